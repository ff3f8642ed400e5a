"""A host in the official Python SDK: asks once in each era, over HTTP and over standard streams."""

import asyncio
import json
import sys

import httpx2
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

ASK = {"text": "SAY:hello"}


async def over_http(url, token):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = await client.list_tools()
            result = await client.call_tool("ask", ASK)
            return client.protocol_version, tools, result


async def over_streams(command):
    program = StdioServerParameters(command=command[0], args=command[1:])
    async with stdio_client(program) as (read, write):
        async with ClientSession(read, write) as session:
            greeted = await session.initialize()
            tools = await session.list_tools()
            result = await session.call_tool("ask", ASK)
            return greeted.protocol_version, tools, result


async def main():
    _, kind, *rest = sys.argv
    version, tools, result = await (over_http(*rest) if kind == "http" else over_streams(rest))
    answer = result.structured_content["answer"]
    print(json.dumps({"version": version, "tools": len(tools.tools), "answer": answer}))


asyncio.run(main())
