// Callers who create, change, remove and list at random, each beside a plain model in memory: what
// was acknowledged is in the very next answer, in whatever encoding it is asked for.
import type { JsonObject } from "@bufbuild/protobuf"
import { type House, openHouse } from "../../scenario/house.ts"
import { methodOf } from "../../scenario/run.ts"
import { closeWays, waysOf } from "../../scenario/ways.ts"

export type Outcome = {
  readonly steps: number
  readonly calls: number
  readonly complaints: readonly string[]
}

type Thing = { name: string; readonly within: string; active: boolean }
type Kind = "org" | "user" | "project" | "role" | "app"
type Model = Readonly<Record<Kind, Map<string, Thing>>>

type Caller = {
  readonly model: Model
  /** A number below `end`, the same in every run of a seed. */
  readonly below: (end: number) => number
  readonly ask: (call: string, body: JsonObject) => Promise<any>
  readonly label: string
  count: number
}

/** Runs so many steps, spread over the callers; a step is one change and the lists that show it. */
export async function runModel(steps: number, callers: number, seed: number): Promise<Outcome> {
  const house = await openHouse()
  const complaints: string[] = []
  let calls = 0
  let left = steps
  const live = async (label: string, below: Caller["below"]) => {
    const ask: Caller["ask"] = (call, body) => {
      calls++
      return askSomehow(house, below, { call, body })
    }
    const caller: Caller = { model: emptyModel(), below, ask, label, count: 0 }
    while (left-- > 0 && complaints.length < 10) {
      const did = await step(caller)
      const wrong = await compare(caller, did)
      if (wrong) complaints.push(`${label}, after ${did.what} (seed ${seed}): ${wrong}`)
    }
  }
  try {
    const all = Array.from({ length: callers }, (_, at) => live(`c${at}`, numbersOf(seed + at)))
    await Promise.all(all)
  } finally {
    closeWays()
    await house.close()
  }
  return { steps, calls, complaints }
}

const emptyModel = (): Model => ({
  org: new Map(),
  user: new Map(),
  project: new Map(),
  role: new Map(),
  app: new Map(),
})

/** A generator that anybody can repeat: a linear congruence of 32 bits, of which the top count. */
function numbersOf(seed: number): Caller["below"] {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * end)
  }
}

/** As the owner of the instance, in any of the encodings that the operation has. */
async function askSomehow(
  house: House,
  below: Caller["below"],
  { call, body }: { readonly call: string; readonly body: JsonObject },
): Promise<any> {
  const method = methodOf(call)
  const ways = waysOf(method)
  const [name, way] = ways[below(ways.length)] ?? []
  const { "x-core-orgid": orgId, ...rest } = body
  const headers = {
    ...house.headers,
    authorization: `Bearer user ${house.ownerId} ${house.orgId}`,
    ...(typeof orgId === "string" ? { "x-core-orgid": orgId } : {}),
  }
  const told = await way?.({ ...house, method, body: rest, headers })
  if (told?.code === "ok") return told.body
  throw new Error(`${call} by ${name} ended with ${told?.code} (${told?.id})`)
}

type Did = { readonly what: string; readonly kind: Kind; readonly within: string }

const kinds: readonly Kind[] = ["org", "user", "project", "role", "app"]
/** What each kind of thing lies in. */
const parents = {
  org: undefined,
  user: "org",
  project: "org",
  role: "project",
  app: "project",
} as const

/** Does one thing that must succeed, there and in the model. */
async function step(caller: Caller): Promise<Did> {
  const { model, below } = caller
  const kind = kinds[below(kinds.length)] ?? "user"
  const parent = parents[kind]
  const home = parent && pick(caller, parent)
  if (parent && !home?.[1].active) return made(caller, "org", "")
  const within = home?.[0] ?? ""
  const [id, thing] = pick(caller, kind) ?? []
  if (!id || !thing || model[kind].size < 4 || below(10) < 4) return made(caller, kind, within)
  if (below(10) < 4) return changed(caller, kind, id, thing)
  if (kind !== "role" && below(2) === 0) return switched(caller, kind, id, thing)
  return removed(caller, kind, id, thing)
}

/** One that may be changed: nothing is, in what is not active. */
function pick({ model, below }: Caller, kind: Kind): readonly [string, Thing] | undefined {
  const open = [...model[kind]].filter(([, { within }]) => isOpen(model, parents[kind], within))
  return open[below(open.length)]
}

function isOpen(model: Model, kind: Kind | undefined, id: string): boolean {
  if (!kind) return true
  const thing = model[kind].get(id)
  return thing?.active === true && isOpen(model, parents[kind], thing.within)
}

const U = "user.v2.UserService"
const O = "org.v2.OrganizationService"
const P = "project.v2.ProjectService"
const A = "application.v2.ApplicationService"
const M = "management.v1.ManagementService"

async function made(caller: Caller, kind: Kind, within: string): Promise<Did> {
  const { ask, model, label } = caller
  const name = `${label}-${kind}-${caller.count++}`
  const id = await create(caller, kind, { within, name, ask })
  model[kind].set(id, { name, within, active: true })
  return { what: `creating ${kind} ${name}`, kind, within }
}

type Creation = { readonly within: string; readonly name: string; readonly ask: Caller["ask"] }

async function create({ below }: Caller, kind: Kind, { within, name, ask }: Creation) {
  switch (kind) {
    case "org":
      return (await ask(`${O}/AddOrganization`, { name })).organizationId as string
    case "user": {
      const machine = { name }
      const body = { organizationId: within, username: name, machine }
      return (await ask(`${U}/CreateUser`, body)).id as string
    }
    case "project":
      // The older family does the same, and has REST.
      if (below(2) === 0)
        return (await ask(`${M}/AddProject`, { name, ...inOrg(within) })).id as string
      return (await ask(`${P}/CreateProject`, { organizationId: within, name })).projectId as string
    case "role":
      await ask(`${P}/AddProjectRole`, { projectId: within, roleKey: name, displayName: name })
      return `${within}/${name}`
    case "app": {
      const body = { projectId: within, name, apiConfiguration: {} }
      return (await ask(`${A}/CreateApplication`, body)).applicationId as string
    }
  }
}

const inOrg = (orgId: string) => ({ "x-core-orgid": orgId })

async function changed(caller: Caller, kind: Kind, id: string, thing: Thing): Promise<Did> {
  const { ask } = caller
  const name = `${caller.label}-renamed-${caller.count++}`
  const { within } = thing
  if (kind === "org") await ask(`${O}/UpdateOrganization`, { organizationId: id, name })
  if (kind === "user") await ask(`${U}/UpdateUser`, { userId: id, username: name })
  if (kind === "project") await ask(`${P}/UpdateProject`, { projectId: id, name })
  if (kind === "app") {
    await ask(`${A}/UpdateApplication`, { applicationId: id, projectId: within, name })
  }
  if (kind === "role") {
    const roleKey = id.split("/")[1] ?? ""
    await ask(`${P}/UpdateProjectRole`, { projectId: within, roleKey, displayName: name })
  }
  thing.name = name
  return { what: `renaming ${kind} ${id} to ${name}`, kind, within }
}

/** Deactivates what is active, and the reverse. */
async function switched(
  { ask }: Caller,
  kind: Exclude<Kind, "role">,
  id: string,
  thing: Thing,
): Promise<Did> {
  const { within } = thing
  const call = {
    org: `${O}/${thing.active ? "Deactivate" : "Activate"}Organization`,
    user: `${U}/${thing.active ? "Deactivate" : "Reactivate"}User`,
    project: `${P}/${thing.active ? "Deactivate" : "Activate"}Project`,
    app: `${A}/${thing.active ? "Deactivate" : "Reactivate"}Application`,
  }[kind]
  await ask(call, namedIn(kind, id, within))
  thing.active = !thing.active
  return { what: `${call} ${id}`, kind, within }
}

function namedIn(kind: Kind, id: string, within: string): JsonObject {
  if (kind === "org") return { organizationId: id }
  if (kind === "user") return { userId: id }
  if (kind === "project") return { projectId: id }
  if (kind === "app") return { applicationId: id, projectId: within }
  return { projectId: within, roleKey: id.split("/")[1] ?? "" }
}

const removals = {
  org: `${O}/DeleteOrganization`,
  user: `${U}/DeleteUser`,
  project: `${P}/DeleteProject`,
  role: `${P}/RemoveProjectRole`,
  app: `${A}/DeleteApplication`,
} as const

async function removed(caller: Caller, kind: Kind, id: string, thing: Thing): Promise<Did> {
  await caller.ask(removals[kind], namedIn(kind, id, thing.within))
  forget(caller.model, kind, id)
  return { what: `removing ${kind} ${id}`, kind, within: thing.within }
}

/** What lies in it goes with it. */
function forget(model: Model, kind: Kind, id: string): void {
  model[kind].delete(id)
  for (const inner of kinds.filter((each) => parents[each] === kind)) {
    for (const [each, { within }] of [...model[inner]])
      if (within === id) forget(model, inner, each)
  }
}

/** Asks for what was touched, in whole; answers what is otherwise than in the model. */
async function compare(caller: Caller, { kind, within }: Did): Promise<string | undefined> {
  const { rows, total } = await listed(caller, kind, within)
  const known = [...caller.model[kind]].filter(([, thing]) => thing.within === within)
  const expected = known.map(([id, { name, active }]) => line(id, name, active))
  const found = rows.sort().join("\n")
  if (found !== expected.sort().join("\n"))
    return `found\n${found}\nexpected\n${expected.join("\n")}`
  return total === expected.length ? undefined : `the total is ${total}, not ${expected.length}`
}

const line = (id: string, name: string, active: boolean) => `${id} ${name} ${active}`

type Listed = { readonly rows: string[]; readonly total: number }

/** What the server gives at most at once. */
const pageSize = 1000
const totalOf = (answer: any) =>
  Number(answer.pagination?.totalResult ?? answer.details?.totalResult ?? 0)
const isActive = ({ state }: { readonly state: string }) => /_ACTIVE$/.test(state)

/** All of it, page by page. */
async function listed(caller: Caller, kind: Kind, within: string): Promise<Listed> {
  const rows: string[] = []
  for (;;) {
    const page = await pageOf(caller, kind, within, rows.length)
    rows.push(...page.rows)
    if (page.rows.length < pageSize) return { rows, total: page.total }
  }
}

async function pageOf(
  { ask, label }: Caller,
  kind: Kind,
  within: string,
  offset: number,
): Promise<Listed> {
  const pagination = { offset, limit: pageSize }
  switch (kind) {
    case "org": {
      const name = `${label}-`
      const nameQuery = { name, method: "TEXT_QUERY_METHOD_STARTS_WITH" }
      const body = { query: pagination, queries: [{ nameQuery }] }
      const answer = await ask(`${O}/ListOrganizations`, body)
      const rows = (answer.result ?? []).map((each: any) =>
        line(each.id, each.name, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
    case "user": {
      const queries = [{ organizationIdQuery: { organizationId: within } }]
      const answer = await ask(`${U}/ListUsers`, { query: pagination, queries })
      const rows = (answer.result ?? []).map((each: any) =>
        line(each.userId, each.username, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
    case "project": {
      const filters = [{ organizationIdFilter: { organizationId: within, type: "OWNED" } }]
      const answer = await ask(`${P}/ListProjects`, { pagination, filters })
      const rows = (answer.projects ?? []).map((each: any) =>
        line(each.projectId, each.name, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
    case "role": {
      const answer = await ask(`${P}/ListProjectRoles`, { projectId: within, pagination })
      const rows = (answer.projectRoles ?? []).map((each: any) =>
        line(`${within}/${each.key}`, each.displayName, true),
      )
      return { rows, total: totalOf(answer) }
    }
    case "app": {
      const filters = [{ projectIdFilter: { projectId: within } }]
      const answer = await ask(`${A}/ListApplications`, { pagination, filters })
      const rows = (answer.applications ?? []).map((each: any) =>
        line(each.applicationId, each.name, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
  }
}
