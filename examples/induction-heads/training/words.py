"""The vocabulary: a start token and 127 short, everyday words."""

BOS = "<bos>"

_WORDS = """
    acorn amber anchor apple arrow badge bamboo banjo barn basil
    beacon bell bench berry blanket boat bottle branch brick bridge
    broom bucket button cabin cactus candle canoe carpet castle cedar
    chalk cherry circle clay clock cloud clover coin copper coral
    cotton crayon cricket crystal daisy desert dolphin donkey dragon drum
    eagle echo ember falcon feather fern fiddle flute forest fossil
    fountain fox garden ginger glacier goose grape hammer harbor harvest
    hazel helmet heron honey island ivory jacket jasmine jungle kettle
    kite ladder lantern lemon lily lobster magnet maple marble meadow
    melon mint mirror moss mountain needle nest oak ocean olive
    orchid otter paddle pebble pencil pepper pigeon pillow pine planet
    plum pond quartz rabbit raven ribbon river saddle sail silver
    sparrow spoon thunder tulip velvet walnut willow
"""

VOCABULARY = (BOS, *_WORDS.split())
