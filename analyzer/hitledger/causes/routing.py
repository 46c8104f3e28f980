"""Another model, provider, account, replica or routing key answered."""

from hitledger.causes.case import Case, Change, Confidence, Diagnosis

CAUSE_OF_FIELD = {
    "account": "routing.account",
    "upstream": "routing.provider_flip",
    "host": "routing.provider_flip",
    "replica": "routing.replica",
    "prompt_cache_key": "routing.key_changed",
    "affinity": "routing.key_changed",
}


def diagnose(case: Case) -> Diagnosis | None:
    """The first of model, provider, account, upstream, replica, key that differs."""
    before, call = case.before, case.call
    if before.model != call.model:
        return Diagnosis("model.changed", Confidence.CERTAIN, "model", "", 0, before.model, call.model)
    if before.served_model and call.served_model and before.served_model != call.served_model:
        note = "the same model was asked for, another one answered"
        return Diagnosis(
            "model.changed", Confidence.CERTAIN, "response.model", note, 0, before.served_model, call.served_model
        )
    if before.provider != call.provider:
        return Diagnosis("routing.provider_flip", Confidence.CERTAIN, "provider", "", 0, before.provider, call.provider)
    for name, cause in CAUSE_OF_FIELD.items():
        change = next((change for change in case.route if change.name == name), None)
        # A field that only one of the two logs shows proves nothing, but for a key that the client set or dropped.
        if change is not None and (name == "prompt_cache_key" or (change.before and change.after)):
            return _of(change, cause)
    return None


def _of(change: Change, cause: str) -> Diagnosis:
    confidence = Confidence.LIKELY if cause == "routing.key_changed" else Confidence.CERTAIN
    before = change.before.value if change.before else None
    after = change.after.value if change.after else None
    return Diagnosis(cause, confidence, change.path, "", 0, before, after)
