"""Names in other languages are read as what they mean."""

from __future__ import annotations

import pytest

from bedside.naming.axes import axis_kind
from bedside.naming.metric_names import read_name
from bedside.naming.other_languages import in_english


@pytest.mark.parametrize(
    ("name", "kind", "split"),
    [
        ("Verlust", "loss", ""), ("Trainingsverlust", "loss", "train"), ("Validierungsverlust", "loss", "val"),
        ("VERLUST_VAL", "loss", "val"), ("Genauigkeit", "metric", "train"), ("Lernrate", "lr", ""),
        ("perte", "loss", ""), ("perte_val", "loss", "val"), ("Perte de validation", "loss", "val"),
        ("perte d'entraînement", "loss", "train"), ("précision", "metric", "train"),
        ("taux d'apprentissage", "lr", ""), ("Taux d’apprentissage", "lr", ""), ("taux_apprentissage", "lr", ""),
        ("pérdida", "loss", ""), ("perdida", "loss", ""), ("pérdida de validación", "loss", "val"),
        ("precisión", "metric", "train"), ("exactitud_val", "metric", "val"), ("tasa de aprendizaje", "lr", ""),
        ("perda", "loss", ""), ("taxa de aprendizado", "lr", ""), ("perdita", "loss", ""),
        ("потери на обучении", "loss", "train"), ("потери на валидации", "loss", "val"),
        ("точность", "metric", "train"), ("정확도", "metric", "train"), ("검증 손실", "loss", "val"),
        ("検証損失", "loss", "val"), ("eğitim kaybı", "loss", "train"),
        ("accuratezza", "metric", "train"), ("norme du gradient", "grad_norm", ""),
    ],
)  # fmt: skip
def test_losses_metrics_and_rates(name, kind, split):
    assert (read_name(name).kind, read_name(name).split) == (kind, split)


@pytest.mark.parametrize("name", ["Epoche", "Эпоха", "エポック", "Époque", "ÉPOQUE", "época", "Epoca", "E\u0301poque"])
def test_epochs(name):
    assert axis_kind(name) == "epoch"


@pytest.mark.parametrize(
    "words", [["train", "loss"], ["lr"], ["model", "d", "loss"], ["val", "acc", "top1"], ["de", "la"]]
)
def test_english_and_unknown_words_stay_as_they_are(words):
    assert in_english(words) == words
