from lapwing.publishing import publish as _publishing

VERBS: dict[str, str]

class Guests:
    preview_publish = _publishing.preview_publish
    publish = _publishing.publish
