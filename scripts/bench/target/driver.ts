// The sign-in flow for the load generator: the clients come from the setup; name and password are
// entered on two pages, each of which redirects.
import { readFileSync } from "node:fs"

type Client = { id: string; secret: string; scope: string }
type Target = {
  name: string
  m2m: Client
  web: Client
  user: { username: string; password: string }
}
/** `headers` is the raw header text. */
type Answer = { status: number; headers: string; body: string }
type Connection = {
  request: (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ) => Promise<Answer>
}
type Jar = { absorb: (answer: Answer) => void; header: () => string }

/** Fills in the clients that the setup created. */
export async function resolve(target: Target): Promise<void> {
  const folder = `${process.env.BENCH_WORK ?? "/tmp/bench-idp"}/${target.name}`
  const credentials = JSON.parse(readFileSync(`${folder}/credentials.json`, "utf8"))
  const { scope, m2m, m2m_jwt, introspector, web, user } = credentials
  Object.assign(target.m2m, m2m, { scope })
  Object.assign(target, { m2m_jwt, introspector, user })
  Object.assign(target.web, web)
}

/** Submits the two pages of the sign-in; returns the URL to continue with. */
export async function login(
  connection: Connection,
  jar: Jar,
  target: Target,
  page: string,
  html: string,
): Promise<string> {
  const { username, password } = target.user
  const fields = { loginName: username, ...(html.includes('name="password"') && { password }) }
  const { location, html: answer } = await post(connection, jar, { page, html, fields })
  if (location !== undefined) return location
  throw new Error(`sign-in failed: ${answer.slice(0, 300)}`)
}

type Form = { page: string; html: string; fields: Record<string, string> }

async function post(connection: Connection, jar: Jar, { page, html, fields }: Form) {
  const action = unescapeHtml(/<form[^>]*action="([^"]*)"/.exec(html)?.[1] ?? "")
  const hidden = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  const knownFields = Object.fromEntries(
    hidden.map(([, name = "", value = ""]) => [name, unescapeHtml(value)]),
  )
  const { pathname, search, origin } = new URL(action, page)
  const headers = {
    "Content-Type": "application/x-www-form-urlencoded",
    Cookie: jar.header(),
    Origin: origin,
  }
  const body = `${new URLSearchParams({ ...knownFields, ...fields })}`
  const answer = await connection.request("POST", pathname + search, headers, body)
  jar.absorb(answer)
  const location = /\r\nlocation: *([^\r]*)/i.exec(answer.headers)?.[1]
  return { html: answer.body, location: location && new URL(location, page).href }
}

const unescapeHtml = (text: string) =>
  text.replaceAll("&quot;", '"').replaceAll("&#x27;", "'").replaceAll("&amp;", "&")
