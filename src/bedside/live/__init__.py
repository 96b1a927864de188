"""The live page: every run under a folder, in a browser or a terminal, while they train.

It is a separate process that opens records for reading only, so it can neither slow a training down nor break it.

    served_folder.py  which runs there are, and under which names a browser may ask for them
    runs.py           the list of runs, their stories, and who watches which
    run_data.py       panels, curves and what is new, read from a record when somebody asks
    verdicts.py       verdicts, stories and comparisons, worked out in a second process
    feed.py           one reader per run for all who watch it: what is new goes to everybody by cursor
    app.py            the routes; security.py who may use them; server.py starts it
    terminal.py       the same in a terminal
"""
