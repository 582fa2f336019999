from hypothesis import settings

settings.register_profile("lapwing", deadline=None)
settings.load_profile("lapwing")
