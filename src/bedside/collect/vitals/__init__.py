"""The collectors, one line each: what a watched run records besides losses, gradients and updates."""

from __future__ import annotations

from bedside.collect.collector import Collector
from bedside.collect.vitals.activations import Activations
from bedside.collect.vitals.answers_in_place import AnswersInPlace
from bedside.collect.vitals.asked_noise import AskedNoise
from bedside.collect.vitals.attention import Attention
from bedside.collect.vitals.autocast_type import AutocastType
from bedside.collect.vitals.batch_statistics import BatchStatistics
from bedside.collect.vitals.class_weights import ClassWeights
from bedside.collect.vitals.constant_weights import ConstantWeights
from bedside.collect.vitals.dead_units import DeadUnits
from bedside.collect.vitals.evaluation_dropout import EvaluationDropout
from bedside.collect.vitals.evaluation_inputs import EvaluationInputs
from bedside.collect.vitals.first_nonfinite import FirstNonfinite
from bedside.collect.vitals.frozen_weights import FrozenWeights
from bedside.collect.vitals.gradient_noise import GradientNoise
from bedside.collect.vitals.identical_views import IdenticalViews
from bedside.collect.vitals.initial_param_norm import Beginning
from bedside.collect.vitals.input_columns import InputColumns
from bedside.collect.vitals.inputs import Inputs
from bedside.collect.vitals.labels import Labels
from bedside.collect.vitals.leaked_future import LeakedFuture
from bedside.collect.vitals.leaked_labels import LeakedLabels
from bedside.collect.vitals.leaked_target import LeakedTarget
from bedside.collect.vitals.linear_network import LinearNetwork
from bedside.collect.vitals.loop_checks import Loop
from bedside.collect.vitals.loss_graph import FirstGraph
from bedside.collect.vitals.loss_inputs import LossInputs
from bedside.collect.vitals.loss_terms import LossTerms
from bedside.collect.vitals.misread_answers import MisreadAnswers
from bedside.collect.vitals.mixed_samples import MixedSamples
from bedside.collect.vitals.narrowest_layer import Narrowest
from bedside.collect.vitals.nonfinite_buffers import NonfiniteBuffers
from bedside.collect.vitals.optimizer_epsilon import OptimizerEpsilon
from bedside.collect.vitals.optimizer_underflow import Numerics
from bedside.collect.vitals.outside_moves import OutsideMoves
from bedside.collect.vitals.own_place import OwnPlace
from bedside.collect.vitals.random_draws import RandomDraws
from bedside.collect.vitals.reconstruction_variation import Reconstruction
from bedside.collect.vitals.restarted_loader import RestartedLoader
from bedside.collect.vitals.schedulers import Schedulers
from bedside.collect.vitals.score_objective import ScoreObjective
from bedside.collect.vitals.seen_before import SeenBefore
from bedside.collect.vitals.shared_parameters import SharedParameters
from bedside.collect.vitals.simple_models import SimpleModels
from bedside.collect.vitals.single_samples import SingleSamples
from bedside.collect.vitals.stale_copies import StaleCopies
from bedside.collect.vitals.target_range import TargetRange
from bedside.collect.vitals.task_changes import TaskChanges
from bedside.collect.vitals.task_losses import TaskLosses
from bedside.collect.vitals.zero_gradients import ZeroGradients

COLLECTORS: tuple[type[Collector], ...] = (
    Beginning,
    ConstantWeights,
    AutocastType,
    ScoreObjective,
    Loop,
    Schedulers,
    FirstGraph,
    LossInputs,
    LinearNetwork,
    LossTerms,
    TaskLosses,
    Reconstruction,
    Narrowest,
    FirstNonfinite,
    Inputs,
    Labels,
    ClassWeights,
    Activations,
    DeadUnits,
    Attention,
    Numerics,
    OutsideMoves,
    GradientNoise,
    LeakedLabels,
    LeakedFuture,
    RestartedLoader,
    TargetRange,
    EvaluationDropout,
    EvaluationInputs,
    MisreadAnswers,
    SeenBefore,
    MixedSamples,
    AnswersInPlace,
    LeakedTarget,
    AskedNoise,
    RandomDraws,
    OwnPlace,
    IdenticalViews,
    SimpleModels,
    InputColumns,
    NonfiniteBuffers,
    OptimizerEpsilon,
    SingleSamples,
    BatchStatistics,
    StaleCopies,
    FrozenWeights,
    SharedParameters,
    ZeroGradients,
    TaskChanges,
)
