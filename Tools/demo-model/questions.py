"""Questions about scenes, in several wordings, with the one right answer each."""

from scenes import COLOURS, SHAPES, Random, cell_name, frame_scene, label
import scenes
import sounds

NUMBERS = ("zero", "one", "two", "three", "four")
UNKNOWN = "I do not know."
GREETING = "Hello! Show me a picture, a clip or a sound."

WORDINGS = {
    # pictures
    "background": ("What colour is the background?", "Which colour does the background have?", "Name the background colour."),
    "colour": ("What colour is the {a}?", "Which colour does the {a} have?", "Name the colour of the {a}."),
    "shape": ("What shape is {c}?", "Which shape is {c}?", "Name the {c} shape."),
    "exists": ("Is there a {c} {a}?", "Do you see a {c} {a}?", "Can you find a {c} {a}?"),
    "count": ("How many shapes are there?", "How many shapes do you see?", "Count the shapes."),
    "where": ("Where is the {a}?", "In which place is the {a}?", "Tell me where the {a} is."),
    "relation": ("Is the {a} left, right, above or below the {b}?", "On which side of the {b} is the {a}?",
                 "Where is the {a}, seen from the {b}?"),
    "describe": ("Describe this image", "Describe the picture.", "What do you see?", "What is in the picture?"),
    # sounds
    "beeps": ("How many beeps are there?", "How many beeps do you hear?", "Count the beeps."),
    "first": ("Is the first beep low or high?", "Which pitch does the first beep have?", "What is the first beep?"),
    "last": ("Is the last beep low or high?", "Which pitch does the last beep have?", "What is the last beep?"),
    "order": ("Which beeps do you hear?", "List the beeps in order.", "Describe the sound."),
    # clips
    "mover": ("What moves?", "Which shape moves?", "What is moving?"),
    "way": ("Which way does it move?", "In which direction does it move?", "Where does it move to?"),
    "start": ("When does it start to move?", "At which time does it start to move?", "When does the movement begin?"),
    "at": ("Where is the {a} at {t}?", "Tell me where the {a} is at {t}.", "At {t}, where is the {a}?"),
    "happens": ("Describe the video.", "What happens?", "Describe this clip."),
    # a picture and a sound
    "both": ("How many shapes and how many beeps are there?", "Count the shapes and the beeps."),
}

GREETINGS = ("Hello", "Hi", "Hello there", "Good morning", "Good evening", "Hey", "Hi there", "Hello, who are you?",
             "What can you do?", "Who are you?")
THANKS = ("Thank you", "Thanks", "Thank you very much", "Many thanks", "Thanks a lot")
WELCOME = "You are welcome."

# what it has to say that it does not know
OUTSIDE = (
    "What is the capital of France?", "Who wrote this book?", "How old are you?", "What is the weather like today?",
    "How much is three plus four?", "Tell me a story.", "Write a poem about the sea.", "What is your favourite song?",
    "Translate this into German.", "Where do you live?", "When does the train leave?", "Why is the sky blue?",
    "Who is the president?", "What is two times two?", "Is it raining?", "How do I cook rice?", "What time is it?",
    "Write a function in Swift.", "What is the meaning of life?", "How far is the moon?", "Do you like music?",
    "Is there a cat?", "What is the dog doing?", "Who is in the picture?", "How many people are there?",
    "What does the sign say?", "Is there a car in the video?", "What language is spoken?", "What is the person saying?",
    "Transcribe the following speech segment into text.", "What song is playing?", "Summarise the article.",
    "Can you help me with my work?", "What is the largest city in the world?", "Give me a recipe for bread.",
    "How tall is the mountain?", "Which river is the longest?", "What happened yesterday?", "Explain how a computer works.",
    "Who won the game?", "What do birds eat?", "Is this a good idea?", "Please sing a song.", "Where can I buy shoes?",
    "How is the food here?", "What is the name of this street?", "Can you read the text?", "What is behind the house?",
    "How many windows does the house have?", "Which animal is this?", "Is the woman smiling?", "What is the price?",
)
WORDS = tuple(sorted({word.strip("?.,").lower() for text in OUTSIDE for word in text.split()}))

PICTURE_TYPES = ("background", "colour", "shape", "exists", "count", "where", "relation", "describe")
SOUND_TYPES = ("beeps", "first", "last", "order")
CLIP_TYPES = ("mover", "way", "start", "at", "happens")
TEXT_TYPES = ("greeting", "thanks", "outside")


def phrase(item: dict) -> str:
    return f"{item['colour']} {item['shape']}"


def side(a: dict, b: dict) -> str | None:
    """Where a is, seen from b; None where one word would not do."""
    (ax, ay), (bx, by) = a["cell"], b["cell"]
    if ay == by:
        return "left" if ax < bx else "right"
    if ax == bx:
        return "above" if ay < by else "below"
    return None


def describe(scene: dict) -> str:
    objects = scene["objects"]
    if len(objects) == 1:
        return f"a {phrase(objects[0])}"
    if len(objects) == 2:
        first, second = sorted(objects, key=lambda item: (item["cell"][1], item["cell"][0]))
        return f"a {phrase(first)} {'left of' if side(first, second) == 'left' else 'above'} a {phrase(second)}"
    return f"{NUMBERS[len(objects)]} shapes"


def available(scene: dict) -> tuple[str, ...]:
    if scene["kind"] == "picture":
        return tuple(t for t in PICTURE_TYPES if t != "relation" or len(scene["objects"]) == 2)
    return SOUND_TYPES if scene["kind"] == "sound" else CLIP_TYPES


def reword(random: Random, text: str) -> str:
    """Small liberties people take: no end mark, a small first letter, American spelling."""
    if random.below(4) == 0:
        text = text.rstrip("?.")
    if random.below(4) == 0:
        text = text[0].lower() + text[1:]
    if random.below(4) == 0:
        text = text.replace("colour", "color")
    return text


def ask(random: Random, scene: dict, kind: str) -> tuple[str, str]:
    """A question of one type and its answer."""
    wording = random.choice(WORDINGS[kind])
    if scene["kind"] == "sound":
        pitches = [beep["pitch"] for beep in scene["beeps"]]
        return wording, {"beeps": NUMBERS[len(pitches)], "first": pitches[0], "last": pitches[-1],
                         "order": " ".join(pitches)}[kind]
    objects = scene["objects"]
    item = random.choice(objects)
    if kind == "background":
        return wording, scene["background"]
    if kind == "colour":
        return wording.format(a=item["shape"]), item["colour"]
    if kind == "shape":
        return wording.format(c=item["colour"]), item["shape"]
    if kind == "exists":
        there = random.below(2) == 0
        pair = (item["colour"], item["shape"])
        if not there:
            present = {(o["colour"], o["shape"]) for o in objects}
            # mostly a shape that is there in a colour that is not its own, or the other way round
            near = [(item["colour"], s) for s in SHAPES] + [(c, item["shape"]) for c in COLOURS]
            pair = random.choice([p for p in near if p not in present])
        return wording.format(c=pair[0], a=pair[1]), "yes" if there else "no"
    if kind == "count":
        return wording, NUMBERS[len(objects)]
    if kind == "where":
        return wording.format(a=item["shape"]), cell_name(*item["cell"])
    if kind == "relation":
        a, b = random.sample(objects, 2)
        return wording.format(a=a["shape"], b=b["shape"]), side(a, b)
    if kind == "describe":
        return wording, describe(scene)
    moving = objects[0]
    if kind == "mover":
        return wording, f"the {phrase(moving)}"
    if kind == "way":
        return wording, scene["direction"]
    if kind == "start":
        return wording, label(scene["start"])
    if kind == "at":
        frame = random.below(len(scene["path"]))
        if random.below(3):
            item = moving
        place = frame_scene(scene, frame)["objects"][objects.index(item)]["cell"]
        return wording.format(a=item["shape"], t=label(frame)), cell_name(*place)
    if kind == "happens":
        return wording, f"the {phrase(moving)} moves {scene['direction']}"
    raise ValueError(kind)


def ask_both(random: Random, picture: dict, sound: dict) -> tuple[str, str]:
    shapes, beeps = len(picture["objects"]), len(sound["beeps"])
    return random.choice(WORDINGS["both"]), (f"{NUMBERS[shapes]} shape{'s' * (shapes > 1)}, "
                                             f"{NUMBERS[beeps]} beep{'s' * (beeps > 1)}")


def talk(random: Random, kind: str) -> tuple[str, str]:
    """Questions without media."""
    if kind == "greeting":
        return random.choice(GREETINGS), GREETING
    if kind == "thanks":
        return random.choice(THANKS), WELCOME
    return outside(random, {"picture", "sound", "clip"}), UNKNOWN


def outside(random: Random, missing: set[str]) -> str:
    """Something it cannot know; `missing` are the media that are not there."""
    choice = random.below(8)
    if choice < 4:
        return random.choice(OUTSIDE)
    if choice == 4 or not missing:
        words = [random.choice(WORDS) for _ in range(random.between(2, 8))]
        return " ".join(words).capitalize() + random.choice(("?", ".", ""))
    kind = random.choice(sorted(missing))
    scene = {"picture": scenes.picture, "sound": sounds.sound, "clip": scenes.clip}[kind](random)
    kinds = [t for t in available(scene) if t not in ("background", "mover", "happens", "describe")]
    return ask(random, scene, random.choice(kinds))[0]


WEIGHTS = {"background": 2, "colour": 3, "shape": 3, "exists": 4, "count": 4, "where": 5, "relation": 16, "describe": 9,
           "beeps": 3, "first": 2, "last": 2, "order": 5, "mover": 4, "way": 7, "start": 7, "at": 9, "happens": 5}


def training_question(random: Random, media: list[dict]) -> tuple[str, str, str]:
    """Type, question and answer about the media of a prompt, hard types more often; sometimes one it cannot answer."""
    if not media:
        kind = random.weighted(TEXT_TYPES, (3, 1, 6))
        question, answer = talk(random, kind)
    elif random.below(16) == 0:
        there = {scene["kind"] for scene in media}
        missing = {"sound"} if there == {"picture"} else {"picture", "clip"} if there == {"sound"} else \
            {"sound"} if there == {"clip"} else set()
        kind, question, answer = "outside", outside(random, missing), UNKNOWN
    elif len(media) == 2 and random.below(5) == 0:
        kind = "both"
        question, answer = ask_both(random, *media)
    else:
        scene = random.choice(media)
        kinds = available(scene)
        kind = random.weighted(kinds, [WEIGHTS[kind] for kind in kinds])
        question, answer = ask(random, scene, kind)
    return kind, reword(random, question), answer


def media_of(modality: str, random: Random, **options) -> list[dict]:
    if modality == "image":
        return [scenes.picture(random, **options)]
    if modality == "clip":
        return [scenes.clip(random, **options)]
    if modality == "sound":
        return [sounds.sound(random)]
    if modality == "mixture":
        return [scenes.picture(random, **options), sounds.sound(random)]
    if modality == "text":
        return []
    raise ValueError(modality)


def example(modality: str, seed: int, index: int) -> dict:
    """One medium (or two) with one question, every type equally often: what is measured."""
    random = Random(seed, ("text", "image", "sound", "clip", "mixture").index(modality), index)
    media = media_of(modality, random)
    if modality == "text":
        kind = random.choice(TEXT_TYPES)
        question, answer = talk(random, kind)
    elif random.below(20) == 0:
        kind, question, answer = "outside", random.choice(OUTSIDE), UNKNOWN
    elif modality == "mixture" and random.below(4) == 0:
        kind = "both"
        question, answer = ask_both(random, *media)
    else:
        scene = random.choice(media)
        kind = random.choice(available(scene))
        question, answer = ask(random, scene, kind)
    return {"modality": modality, "type": kind, "media": media, "question": question, "answer": answer}
