"""A peer: FastAPI on uvicorn, as its tutorial has it, with its logs off."""

import socket
from typing import Dict

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Text(BaseModel):
    text: str


app = FastAPI()


@app.post("/echo")
async def echo(body: Text) -> Dict[str, str]:
    return {"result": body.text}


if __name__ == "__main__":
    # With its protocol named, asyncio takes Nagle's delay away; create_server does not name it.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(100)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False)).run(sockets=[listener])
