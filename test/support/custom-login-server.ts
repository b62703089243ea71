import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** Calls an operation by Connect with the page's own token. */
export type CallService = (
  name: string,
  request: object,
) => Promise<{ readonly status: number; readonly body: any }>

type StoredSession = { readonly sessionId: string; readonly sessionToken: string }

/**
 * A custom login page: it asks for a name and a password, keeps the session in its own cookie, and
 * redirects the browser to the URL that the service returns.
 */
export async function customLoginServer(port: number, ask: CallService) {
  const server = createServer((request, response) => {
    handleRequest(ask, request, response).catch((cause) => {
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

async function handleRequest(ask: CallService, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? "/", "http://localhost")
  if (url.pathname !== "/login") return void response.writeHead(404).end()
  const fields = request.method === "POST" ? await formOf(request) : url.searchParams
  const id = fields.get("authRequest") ?? ""
  const { status, body } = await ask("GetAuthRequest", { authRequestId: id })
  if (status !== 200) return void sendPage(response, { id, said: "This sign-in is over." })
  if (request.method !== "POST") {
    const kept = sessionOf(request)
    const isAsked = body.authRequest.prompt?.includes("PROMPT_LOGIN") ?? false
    const known = kept && !isAsked ? await completeRequest(ask, id, kept) : undefined
    return known ? redirectTo(response, known) : sendPage(response, { id, said: "" })
  }
  const userAgent = { ip: "203.0.113.7", description: request.headers["user-agent"] ?? "" }
  const checks = {
    user: { loginName: fields.get("loginName") ?? "" },
    password: { password: fields.get("password") ?? "" },
  }
  const made = await ask("CreateSession", { checks, userAgent })
  if (made.status !== 200)
    return void sendPage(response, { id, said: "Name or password is wrong." })
  const { sessionId, sessionToken } = made.body
  const kept = { sessionId, sessionToken }
  response.setHeader("set-cookie", `page=${sessionId}.${sessionToken}; HttpOnly; SameSite=Lax`)
  const onward = await completeRequest(ask, id, kept)
  return onward
    ? redirectTo(response, onward)
    : sendPage(response, { id, said: "You may not go there." })
}

async function completeRequest(ask: CallService, authRequestId: string, session: StoredSession) {
  const { status, body } = await ask("CreateCallback", { authRequestId, session })
  return status === 200 ? String(body.callbackUrl) : undefined
}

const redirectTo = (response: ServerResponse, location: string) =>
  void response.writeHead(303, { location }).end()

function sendPage(
  response: ServerResponse,
  { id, said: message }: { id: string; said: string },
): void {
  response.writeHead(200, { "content-type": "text/html", "cache-control": "no-store" }).end(
    `<!doctype html><html lang="en"><title>Their page</title><h1>Their page</h1><p>${message}</p>
    <form method="post"><input type="hidden" name="authRequest" value="${encodeURIComponent(id)}">
    <label>Name <input name="loginName"></label>
    <label>Password <input name="password" type="password"></label>
    <button>Go on</button></form>`,
  )
}

function sessionOf(request: IncomingMessage): StoredSession | undefined {
  const [, sessionId = "", sessionToken = ""] =
    /(?:^|; )page=(\d+)\.([^;]+)/.exec(request.headers.cookie ?? "") ?? []
  return sessionId === "" ? undefined : { sessionId, sessionToken }
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ""
  for await (const chunk of request) text += chunk
  return new URLSearchParams(text)
}
