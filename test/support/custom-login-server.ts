import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** What the page asks of the service, by Connect with its own token. */
export type Asking = (
  name: string,
  request: object,
) => Promise<{ readonly status: number; readonly body: any }>

type Kept = { readonly sessionId: string; readonly sessionToken: string }

/**
 * A login page as somebody else would write it: it asks for a name and a password, keeps the
 * session in a cookie of its own, and sends the browser on with what the service answers.
 */
export async function customLoginServer(port: number, ask: Asking) {
  const server = createServer((request, response) => {
    answer(ask, request, response).catch((cause) => {
      response.writeHead(500, { "content-type": "text/plain" }).end(String(cause))
    })
  })
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  return {
    url: `http://localhost:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function answer(ask: Asking, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? "/", "http://localhost")
  if (url.pathname !== "/login") return void response.writeHead(404).end()
  const fields = request.method === "POST" ? await formOf(request) : url.searchParams
  const id = fields.get("authRequest") ?? ""
  const { status, body } = await ask("GetAuthRequest", { authRequestId: id })
  if (status !== 200) return void page(response, { id, said: "This sign-in is over." })
  if (request.method !== "POST") {
    const kept = keptIn(request)
    const isAsked = body.authRequest.prompt?.includes("PROMPT_LOGIN") ?? false
    const known = kept && !isAsked ? await callback(ask, id, kept) : undefined
    return known ? goTo(response, known) : page(response, { id, said: "" })
  }
  const userAgent = { ip: "203.0.113.7", description: request.headers["user-agent"] ?? "" }
  const checks = {
    user: { loginName: fields.get("loginName") ?? "" },
    password: { password: fields.get("password") ?? "" },
  }
  const made = await ask("CreateSession", { checks, userAgent })
  if (made.status !== 200) return void page(response, { id, said: "Name or password is wrong." })
  const { sessionId, sessionToken } = made.body
  const kept = { sessionId, sessionToken }
  response.setHeader("set-cookie", `page=${sessionId}.${sessionToken}; HttpOnly; SameSite=Lax`)
  const onward = await callback(ask, id, kept)
  return onward ? goTo(response, onward) : page(response, { id, said: "You may not go there." })
}

async function callback(ask: Asking, authRequestId: string, session: Kept) {
  const { status, body } = await ask("CreateCallback", { authRequestId, session })
  return status === 200 ? String(body.callbackUrl) : undefined
}

const goTo = (response: ServerResponse, location: string) =>
  void response.writeHead(303, { location }).end()

function page(response: ServerResponse, { id, said }: { id: string; said: string }): void {
  response.writeHead(200, { "content-type": "text/html", "cache-control": "no-store" }).end(
    `<!doctype html><html lang="en"><title>Their page</title><h1>Their page</h1><p>${said}</p>
    <form method="post"><input type="hidden" name="authRequest" value="${encodeURIComponent(id)}">
    <label>Name <input name="loginName"></label>
    <label>Password <input name="password" type="password"></label>
    <button>Go on</button></form>`,
  )
}

function keptIn(request: IncomingMessage): Kept | undefined {
  const [, sessionId = "", sessionToken = ""] =
    /(?:^|; )page=(\d+)\.([^;]+)/.exec(request.headers.cookie ?? "") ?? []
  return sessionId === "" ? undefined : { sessionId, sessionToken }
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ""
  for await (const chunk of request) text += chunk
  return new URLSearchParams(text)
}
