"""TensorBoard event files: one summary a step with all its values, which is much cheaper than a call per value."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bedside.finding import Finding
from bedside.record.histograms import EDGES, Histogram
from bedside.sinks.sink import Ending, Sink, advice, as_yaml, headline, needs

LARGEST_EDGE = 1e30  # stands for the outermost border, which TensorBoard cannot draw


class TensorBoard(Sink):
    """Into a folder, or with a `SummaryWriter` that already exists (which stays open)."""

    name = "TensorBoard"

    def __init__(self, log_dir: str | Path | None = None, *, writer: Any = None) -> None:
        needs("TensorBoard", "tensorboard")
        self._log_dir = log_dir
        self._writer = writer
        self._events: Any = None

    def open(self, run_dir: Path, config: Mapping[str, Any]) -> None:
        if self._writer is None:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter

            self._events = EventFileWriter(str(self._log_dir or run_dir / "tensorboard"))
        self._text("bedside/config", f"```yaml\n{as_yaml(config)}\n```", 0)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._add(Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]), step)

    def histogram(self, step: int, name: str, histogram: Histogram) -> None:
        from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

        there = histogram.counts.nonzero()[0]
        if not len(there):
            return
        first, last = int(there[0]), int(there[-1])
        limits = EDGES[first + 1 : last + 2].clip(-LARGEST_EDGE, LARGEST_EDGE)
        proto = HistogramProto(
            min=max(float(EDGES[first]), -LARGEST_EDGE),
            max=float(limits[-1]),
            num=float(len(histogram)),
            bucket_limit=limits.tolist(),
            bucket=histogram.counts[first : last + 1].astype(float).tolist(),
        )
        self._add(Summary(value=[Summary.Value(tag=name, histo=proto)]), step)

    def finding(self, step: int, finding: Finding) -> None:
        self._text(f"findings/{headline(finding)}", advice(finding), step)

    def close(self, ending: Ending) -> None:
        self._text("bedside/report", f"```\n{ending.text}\n```", 0)
        if self._events is not None:
            self._events.close()
        else:
            self._writer.flush()

    def _text(self, tag: str, text: str, step: int) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
        from tensorboard.plugins.text.metadata import create_summary_metadata

        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        tensor = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape)
        metadata = create_summary_metadata(display_name="", description="")
        self._add(Summary(value=[Summary.Value(tag=f"{tag}/text_summary", metadata=metadata, tensor=tensor)]), step)

    def _add(self, summary: Any, step: int) -> None:
        if self._events is None:
            self._writer._get_file_writer().add_summary(summary, step)  # torch's and tensorboardX's have it
            return
        from tensorboard.compat.proto.event_pb2 import Event

        self._events.add_event(Event(wall_time=time.time(), step=step, summary=summary))
