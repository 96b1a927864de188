"""What columns are called where people do not write English, but German, French, Spanish, Portuguese, Italian, Dutch,
Polish, Turkish, Russian, Chinese, Japanese or Korean.

>>> in_english(["trainingsverlust"]), in_english(["époque"]), in_english(["train", "loss"])
(['train', 'loss'], ['epoch'], ['train', 'loss'])
>>> in_english(["taux", "d'apprentissage"]), in_english(["pérdida", "de", "validación"])
(['learning', 'rate'], ['loss', 'val'])
>>> in_english(["потери", "на", "обучении"]), in_english(["검증", "손실"])
(['loss', 'train'], ['val', 'loss'])
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

# Words without their accents; those of a phrase are joined by underscores, without the little words between them.
_TABLE = """
epoch: epoche epochen epoque epoques epoca epocas tijdperk
step: schritt schritte etape etapes paso pasos passo passi iteracion iteraciones iteracao iterazione stap
batch: stapel lote lotes
loss: verlust verluste verlustwert perte pertes perdida perdidas perda perdas perdita perdite costo verlies
train: trainings entrenamiento entrainement treinamento treino addestramento allenamento apprentissage
val: validierung validierungs validacion validacao validazione validatie
test: prueba teste essai
train loss: trainingsverlust trainverlust
val loss: validierungsverlust valverlust
test loss: testverlust
accuracy: genauigkeit trefferquote korrektklassifikationsrate exactitude precision_globale exactitud acuracia
accuracy: accuratezza nauwkeurigheid
train accuracy: trainingsgenauigkeit
val accuracy: validierungsgenauigkeit
test accuracy: testgenauigkeit
learning rate: lernrate lernraten taux_apprentissage tasa_aprendizaje taxa_aprendizado taxa_aprendizagem
learning rate: tasso_apprendimento leersnelheid
grad norm: gradientennorm gradientnorm norme_gradient norma_gradiente
train loss: 训练损失 训练集损失 平均训练损失
val loss: 验证损失 验证集损失
test loss: 测试损失 测试集损失
loss: 损失 损失值 損失
accuracy: 准确率 精度 正解率
train accuracy: 训练准确率 训练精度 训练集准确率
val accuracy: 验证准确率 验证精度 验证集准确率
test accuracy: 测试准确率 测试精度 测试集准确率
learning rate: 学习率
epoch: эпоха эпохи эпох epoka epoki エポック 에포크 에폭
step: шаг шага итерация итерации krok 스텝
loss: потеря потери лосс strata straty kayıp kaybı 손실 ロス
train: обучение обучении обучения обучающая тренировка тренировочный тренировочная uczenie trening eğitim 訓練 훈련 학습
val: валидация валидации валидационный валидационная walidacja walidacji doğrulama 検証 검증
test: тест тесте тестовый тестовая 테스트 テスト
accuracy: точность dokładność doğruluk doğruluğu akurasi 정확도
train loss: 訓練損失 学習損失 훈련손실 학습손실
val loss: 検証損失 검증손실
learning rate: скорость_обучения 学習率 학습률
time: zeit dauer temps duree tiempo tempo duracion duracao durata tijd
"""
_LITTLE = frozenset("de del della des di do da du d l la le el il van der на по для".split())  # taux d'apprentissage


def in_english(words: Sequence[str]) -> list[str]:
    """The lower-case words of a name as the words that we know it by; as they are where none of them is foreign."""
    bare = [_without_accents(word) for word in words]
    if not any(word in _ENGLISH or word in _FIRST_OF_TWO for word in bare):
        return bare
    telling = [word for word in bare if word not in _LITTLE]
    found: list[str] = []
    at = 0
    while at < len(telling):
        two = "_".join(telling[at : at + 2])
        found += _ENGLISH.get(two) or _ENGLISH.get(telling[at]) or [telling[at]]
        at += 2 if two in _ENGLISH and at + 1 < len(telling) else 1
    return found


def _without_accents(word: str) -> str:
    if not word.isascii():
        plain = unicodedata.normalize("NFKD", word.replace("’", "'"))
        word = "".join(each for each in plain if not unicodedata.combining(each))
    article, apostrophe, rest = word.partition("'")
    return rest if apostrophe and article in _LITTLE and rest else word


_ENGLISH = {
    _without_accents(foreign): english.split()
    for line in _TABLE.strip().split("\n")
    for english, names in [line.split(": ")]
    for foreign in names.split()
}
_FIRST_OF_TWO = frozenset(name.partition("_")[0] for name in _ENGLISH if "_" in name)
