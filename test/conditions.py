# test/conditions.py - what an object's status says of one condition.


def condition(thing: dict, kind: str) -> dict:
    """Empty when it says nothing of it."""
    return next((each for each in thing.get("status", {}).get("conditions", []) if each["type"] == kind), {})


def is_true(thing: dict, kind: str) -> bool:
    return condition(thing, kind).get("status") == "True"
