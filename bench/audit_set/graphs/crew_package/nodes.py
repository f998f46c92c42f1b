from crew_package.llms import get_llm

CRITIC = "Reply with JSON {{good: bool}}. Lyrics: {lyrics}"


def write_lyrics(state):
    return {"lyrics": get_llm().invoke(f"Lyrics on {state['theme']}").content}


def rate_lyrics(state):
    from crew_package.parsing import read_json

    reply = get_llm("gpt-4o-mini").invoke(CRITIC.format(lyrics=state["lyrics"]))
    return {"good": read_json(reply.content).get("good", False)}
