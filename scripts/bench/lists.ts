// How long every list and search takes among many users, by the compiled binary on one core:
// `bun scripts/bench/lists.ts [USERS] [ORGANISATIONS] [ROUNDS]`. Writes a temporary folder only.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { connect } from "../../test/acceptance/service.ts"
import {
  freePort,
  type Running,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../../test/support/latchkey.ts"
import { orgIdOf, populate, userIdOf } from "./population.ts"

const [users = 1_000_000, orgs = 1000, rounds = 200] = process.argv.slice(2).map(Number)
const aimMs = 50

const any = (end: number) => Math.floor(Math.random() * end)
const someUser = () => userIdOf(any(users))
const someOrg = () => orgIdOf(any(orgs))
const starts = "TEXT_QUERY_METHOD_STARTS_WITH"
const contains = "TEXT_QUERY_METHOD_CONTAINS_IGNORE_CASE"

type Search = readonly [what: string, call: string, request: () => object]

/** Among everything, as the owner of the instance, who may see all of it. */
const searches: readonly Search[] = [
  ["users, first page", "ListUsers", () => ({ query: { limit: 100 } })],
  ["users, far page", "ListUsers", () => ({ query: { limit: 100, offset: `${any(users)}` } })],
  ["users, by creation", "ListUsers", () => sorted("USER_FIELD_NAME_CREATION_DATE")],
  ["users, by name", "ListUsers", () => sorted("USER_FIELD_NAME_USER_NAME")],
  ["users, by display name", "ListUsers", () => sorted("USER_FIELD_NAME_DISPLAY_NAME")],
  ["users, by family name", "ListUsers", () => sorted("USER_FIELD_NAME_LAST_NAME")],
  ["users, by e-mail", "ListUsers", () => sorted("USER_FIELD_NAME_EMAIL")],
  ["users of an organisation", "ListUsers", () => query({ organizationIdQuery: inOrg() })],
  ["users by id", "ListUsers", () => query({ inUserIdsQuery: { userIds: [someUser()] } })],
  ["users by user name", "ListUsers", () => query({ userNameQuery: { userName: person() } })],
  ["users by login name", "ListUsers", () => query({ loginNameQuery: { loginName: person() } })],
  ["users by e-mail", "ListUsers", () => query({ emailQuery: { emailAddress: mail() } })],
  ["users, name begins", "ListUsers", () => text("userNameQuery", "userName", person(), starts)],
  ["users, name holds", "ListUsers", () => text("userNameQuery", "userName", "99", contains)],
  ["users, family begins", "ListUsers", () => text("lastNameQuery", "lastName", "Fam", starts)],
  ["users, active ones", "ListUsers", () => query({ stateQuery: { state: "USER_STATE_ACTIVE" } })],
  ["a user", "GetUserByID", () => ({ userId: someUser() })],
  ["organisations", "ListOrganizations", () => ({ query: { limit: 100 } })],
  ["organisations by name", "ListOrganizations", () => named()],
  ["projects", "ListProjects", () => ({ pagination: { limit: 100 } })],
  ["projects of an organisation", "ListProjects", () => ofOrg()],
  ["applications", "ListApplications", () => ({ pagination: { limit: 100 } })],
  ["authorizations", "ListAuthorizations", () => ({ pagination: { limit: 100 } })],
  ["administrators", "ListAdministrators", () => ({ pagination: { limit: 100 } })],
  ["groups", "ListGroups", () => ({ pagination: { limit: 100 } })],
  ["project grants", "ListProjectGrants", () => ({ pagination: { limit: 100 } })],
]

const person = () => `person-${any(users)}`
const mail = () => `${person()}@example.com`
const inOrg = () => ({ organizationId: someOrg() })
const query = (one: object) => ({ query: { limit: 100 }, queries: [one] })
const sorted = (sortingColumn: string) => ({ query: { limit: 100, asc: true }, sortingColumn })
const named = () => query({ nameQuery: { name: `Organisation ${any(orgs)}` } })
const ofOrg = () => ({ filters: [{ organizationIdFilter: { ...inOrg(), type: "OWNED" } }] })
const text = (name: string, field: string, value: string, method: string) =>
  query({ [name]: { [field]: value, method } })

const folder = temporaryFolder()
const data = join(folder.path, "data")
const port = await freePort()
const url = `http://localhost:${port}`
const key = await setUp(data, url)
const began = performance.now()
await populate(join(data, "latchkey.db"), users, orgs)
const perSecond = users / ((performance.now() - began) / 1000)
row("written past the API", `${Math.round(perSecond)}/s`, "")
const starting = performance.now()
const server = await start({ data, port })
row("ready", ms(performance.now() - starting), "< 200 ms")
try {
  await pin(server)
  await measureAll(await serviceToken(url, key))
  row("memory", `${(memoryOf(server) / 1e6).toFixed(0)} MB`, "< 300 MB")
} finally {
  await server.stop()
  folder.remove()
}

async function measureAll(token: string): Promise<void> {
  for (const [what, call, request] of searches) {
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      const before = performance.now()
      const { status, body } = await connect(url, call, { request: request(), token })
      times.push(performance.now() - before)
      if (status !== 200) throw new Error(`${what} ended with ${JSON.stringify(body)}`)
    }
    times.sort((a, b) => a - b)
    const at = (part: number) => times[Math.floor((times.length - 1) * part)] ?? 0
    row(what, ms(at(0.99)), `< ${aimMs} ms   half within ${ms(at(0.5))}`)
  }
}

async function pin({ process: child }: Running): Promise<void> {
  await Bun.spawn(["taskset", "-a", "-c", "-p", "0", `${child.pid}`], { stdout: "ignore" }).exited
}

function memoryOf({ process: child }: Running): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}

function row(what: string, figure: string, aim: string): void {
  console.log(`${what.padEnd(32)}${figure.padStart(14)}   ${aim}`)
}
