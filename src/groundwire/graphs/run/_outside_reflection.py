"""A reflection that somebody outside of the loop wrote: kept as a lesson where a sealed FAIL opens the gate for it.

Whoever wrote it may be a model that would rather praise itself. So it is asked for a signal, and the gate that stands
in every loop decides: the seal, the origin, the verdict, and that the signal has opened nothing yet.
"""

from __future__ import annotations

from groundwire.core._errors import GroundingError, RecordNotFound
from groundwire.core._records import EpisodeEnd, EpisodeRecord, ReflectionRecord, Store
from groundwire.core._seal import Keys
from groundwire.core._signals import Origin, Signal
from groundwire.core._signatures import failure_frames, failure_signature
from groundwire.graphs.run._gate import GateKind, GateQuestion, Refusal, admit
from groundwire.graphs.run._sealing import RunSeals, keys_of

BECAUSE = {
    Refusal.SEAL: "its seal does not match its content",
    Refusal.REUSED: "it has opened a gate before: one failure, one reflection",
    Refusal.ORIGIN: "nothing outside of the loop observed it, or only hidden tests did",
    Refusal.VERDICT: "it is no FAIL, and nothing is learned from a success that an agent explains to itself",
}


async def episode_of(store: Store, signal: Signal) -> EpisodeRecord:
    """The episode that a signal belongs to.

    Raises:
        RecordNotFound: the ledger has no such episode.
    """
    for record in await store.records(signal.episode_id):
        if isinstance(record, EpisodeRecord):
            return record
    raise RecordNotFound(f"The ledger has no episode {signal.episode_id}, which signal {signal.id} names.")


async def reflect_from_outside(
    store: Store, signal_id: str, text: str, *, by: str, keys: Keys | None = None
) -> ReflectionRecord:
    """Writes a reflection on a failure, if its signal opens the gate; the gate's answer is in the ledger either way.

    Args:
        store: the ledger.
        signal_id: the signal of the failure.
        text: what was learned from it, verbatim.
        by: who wrote it.
        keys: where the runs' keys are; default: those of the ledger.

    Returns:
        The reflection, a lesson from now on.

    Raises:
        RecordNotFound: the ledger has no such signal.
        GroundingError: the signal opens nothing; the message says why.
        SealError: the run's key is not here, or must not be used.
    """
    signal = await store.signal(signal_id)
    episode = await episode_of(store, signal)
    records = await store.records(episode.id)
    if not any(isinstance(record, EpisodeEnd) for record in records):
        raise GroundingError(
            f"Episode {episode.id} has not ended, so nobody from outside reflects in it.", do="Wait for its end."
        )
    sealing = await RunSeals.of(store, keys or keys_of(store)).sealing(store, signal.run_id)
    question = GateQuestion(
        kind=GateKind.REFINE,
        signal=signal,
        episode_id=episode.id,
        trial=signal.trial,
        issuer=signal.issuer,
        candidate_digest=signal.candidate_digest,
        used=await store.admitted(signal_id) is not None,
    )
    admission = admit(question, sealing.mint)
    reflection = ReflectionRecord(
        episode_id=episode.id,
        trial=signal.trial,
        signal_id=signal.id,
        candidate_digest=signal.candidate_digest,
        task_id=episode.task_id,
        family=episode.family,
        text=text,
        by=by,
        signature=failure_signature(signal.evidence),
        frames=failure_frames(signal.evidence),
    )
    written = (admission, reflection) if admission.admitted else (admission,)
    if sealing.chain is None:
        await store.append(*written)
    else:
        chain = sealing.chain.episode(episode.id)
        chain.go_on_after(await store.links(signal.run_id, episode.id))
        await store.append(*written, chain.open())
        chain.kept()
    if not admission.admitted:
        said = BECAUSE.get(Refusal(admission.reason), admission.reason)
        hidden = " (hidden tests steer nothing)" if signal.origin is Origin.HIDDEN_TESTS else ""
        raise GroundingError(
            f"Signal {signal.id} opens nothing: {said}{hidden}.",
            do="Judge the work again, and reflect on the signal of what fails.",
        )
    return reflection
