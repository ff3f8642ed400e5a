"""Drives a Discord with discord.py and says, as JSON, what it saw.

Usage: drive.py API_BASE TOKEN CHANNEL_ID

It logs in, greets the channel with two buttons, answers the text that mentions it, waits for a click (the test makes
both), acknowledges the click, edits the greeting, and checks that errors come back as the library's own error types.
"""

import asyncio
import json
import sys

import discord
import yarl
from discord.http import Route


async def main(base: str, token: str, channel_id: int) -> dict:
    saw = {}
    Route.BASE = base
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = intents.message_content = True
    client = discord.Client(intents=intents)
    done = asyncio.get_running_loop().create_future()

    class Buttons(discord.ui.View):
        @discord.ui.button(label="Yes", custom_id="y")
        async def yes(self, interaction, button):
            saw["click"] = [button.custom_id, interaction.user.id, interaction.message.id]
            await interaction.response.defer()
            done.set_result(None)

        @discord.ui.button(label="No", custom_id="n")
        async def no(self, interaction, button):
            done.set_exception(RuntimeError("the wrong button"))

    @client.event
    async def on_message(message):
        if message.author == client.user:
            return
        mentioned = client.user in message.mentions
        saw["text"] = [message.content, message.author.id, mentioned, message.channel.name]
        await message.reply("good morning to you")

    await client.login(token)
    gateway = await client.http.request(Route("GET", "/gateway/bot"))
    discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway["url"])
    running = asyncio.create_task(client.connect())
    await asyncio.wait([running, asyncio.create_task(client.wait_until_ready())], return_when=asyncio.FIRST_COMPLETED)
    saw["user"] = client.user.name
    saw["guilds"] = [guild.name for guild in client.guilds]
    channel = client.get_channel(channel_id)
    greeting = await channel.send("Hello", view=Buttons(timeout=None))
    await asyncio.wait_for(done, 15)

    # The test limits the next send; the library waits and sends again.
    await channel.send("after the limit")
    edited = await greeting.edit(content="Done", view=None)
    saw["edited"] = edited.content
    errors = {
        "too long": lambda: channel.send("x" * 2001),
        "no channel": lambda: client.http.send_message(31337, params=discord.http.handle_message_parameters("anyone?")),
    }
    for name, call in errors.items():
        try:
            await call()
            saw[name] = "accepted"
        except discord.HTTPException as error:
            saw[name] = str(error)
    body = {"content": "once", "nonce": "a-key", "enforce_nonce": True}
    route = Route("POST", "/channels/{channel_id}/messages", channel_id=channel_id)
    first, second = [await client.http.request(route, json=body) for _ in range(2)]
    saw["deduplicated"] = first["id"] == second["id"]
    await client.close()
    await running

    other = discord.Client(intents=intents)
    try:
        await other.login(token[:-4] + "XXXX")
        saw["wrong token"] = "accepted"
    except discord.LoginFailure:
        saw["wrong token"] = "refused"
    await other.close()
    return saw


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
