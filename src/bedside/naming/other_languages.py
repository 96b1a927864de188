"""What columns are called where people do not write English: German, French, Spanish, Portuguese, Italian.

>>> in_english("trainingsverlust"), in_english("époque"), in_english("loss")
(['train', 'loss'], ['epoch'], ['loss'])
"""

from __future__ import annotations

import unicodedata

_TABLE = """
epoch: epoche epochen epoque epoques epoca epocas epoche epoch
step: schritt schritte etape paso passo iteracion iteracao iterazione
loss: verlust verlustwert perte pertes perdida perdidas perda perdas perdita costo
train: trainings entrenamiento entrenam treinamento treino addestramento entrainement apprentissage
val: validierung validierungs validacion validacao validazione
test: prueba teste
train loss: trainingsverlust trainverlust
val loss: validierungsverlust valverlust
test loss: testverlust
accuracy: genauigkeit trefferquote exactitude precision_globale exactitud acuracia accuratezza
train accuracy: trainingsgenauigkeit
val accuracy: validierungsgenauigkeit
test accuracy: testgenauigkeit
lr: lernrate
"""
_ENGLISH = {
    word: english.split() for line in _TABLE.split("\n") if line for english, words in [line.split(": ")]
    for word in words.split()
}  # fmt: skip


def in_english(word: str) -> list[str]:
    """A word of a name as the words that we know it by; itself if it is known already, or nobody's."""
    if word.isascii():
        return _ENGLISH.get(word, [word])
    bare = "".join(each for each in unicodedata.normalize("NFKD", word) if not unicodedata.combining(each))
    return _ENGLISH.get(bare, [word])
