import { create, type DescMethod, isMessage } from "@bufbuild/protobuf"
import { type Access, accessOf, authorise } from "../../src/api/access.ts"
import { explain } from "../../src/api/explain.ts"
import { checkValues } from "../../src/api/input/values.ts"
import { nameOf } from "../../src/api/method.ts"
import * as app from "../../src/domain/app/index.ts"
import { module as federation } from "../../src/domain/federation/index.ts"
import { module as grant } from "../../src/domain/grant/index.ts"
import { module as idp } from "../../src/domain/idp/index.ts"
import * as instance from "../../src/domain/instance/index.ts"
import { module as key } from "../../src/domain/key/index.ts"
import * as member from "../../src/domain/member/index.ts"
import { module as message } from "../../src/domain/message/index.ts"
import { module as messageProvider } from "../../src/domain/message-provider/index.ts"
import * as org from "../../src/domain/org/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { module as refusal } from "../../src/domain/refusal/index.ts"
import { module as session } from "../../src/domain/session/index.ts"
import { addUser, type NewHuman } from "../../src/domain/user/index.ts"
import type { AccessQuestion } from "../../src/kernel/access.ts"
import type { Call, Operate } from "../../src/kernel/context.ts"
import { aggregates, authority, modules, views } from "../../src/server/modules.ts"
import type { Cx, Transaction } from "../../src/store/index.ts"
import { ask } from "./ask.ts"
import { userModules } from "./user-modules.ts"
import { callerOf, openWorld, type World } from "./world.ts"

type Answering = Extract<(typeof modules)[number], { readonly operations: unknown }>
const answering = modules.filter((each): each is Answering => "operations" in each)

const sharesOf = async (chosen: readonly Answering[]) =>
  (await Promise.all(chosen.map(({ operations }) => operations()))).flatMap(({ shares }) => [
    ...shares,
  ])

/** What is left to tests of their own. */
const apart = new Set<Answering>([
  ...userModules,
  key,
  session,
  grant,
  refusal,
  messageProvider,
  message,
  idp,
  federation,
])
const shares = await sharesOf(answering.filter((each) => !apart.has(each)))

/** The operations of the estate's modules, "healthz" apart: it looks at nothing. */
export const operationNames: ReadonlySet<string> = new Set(
  shares.flatMap(({ handlers }) => Object.keys(handlers)).filter((name) => name !== "healthz"),
)

/** Those of users have tests of their own, and can be called here, too. */
const callable = [
  ...shares,
  ...(await sharesOf([...userModules, session, grant, messageProvider, message, idp, federation])),
]

/** Users of the estate, by the organisation that they belong to. */
const homes = {
  owner: "org1",
  manager: "org1",
  nobody: "org1",
  stranger: "org2",
} as const
export type Person = keyof typeof homes | "system"

/** Who manages several instances, with all that they may. */
const systemCaller: Call["caller"] = {
  kind: "system",
  name: "ops",
  roles: ["SYSTEM_OWNER"],
  publicUrl: "https://id.example.com",
}

export type Estate = World & {
  /** Calls an operation as that person, through its access rule; `of` names an older service. */
  readonly as: (
    person: Person,
    name: string,
    request?: object,
    call?: { readonly of?: string; readonly cx?: Partial<Call> },
  ) => Promise<any>
  readonly step: (act: (tx: Transaction) => void, call?: Partial<Call>) => Promise<void>
}

/**
 * Two organisations: org1 is the default and holds our own project; its manager owns it, and so
 * does the stranger org2. The owner owns the instance, and nobody owns nothing.
 */
export async function openEstate(instances: readonly string[] = ["i1"]): Promise<Estate> {
  const world = openWorld({ aggregates, views })
  for (const id of instances) {
    await world.store.transact(world.cx({ instance: id }), (tx) => provision(tx))
  }
  return {
    ...world,
    step: async (act, call) => void (await world.store.transact(world.cx(call), act)),
    as: (person, name, request = {}, { of, cx = {} } = {}) => {
      const { method, share } = found(name, of)
      const { scope: _, ...bare } = world.cx({
        caller: person === "system" ? systemCaller : callerOf(person, homes[person]),
        ...cx,
      })
      const admitted = authorise(
        authority,
        ruleOf(method),
        bare,
        create(method.input, request as never),
      )
      const explained = {
        ...admitted,
        explain: (question: AccessQuestion) => explain(authority, bare, ruleNamed, question),
        operate: operating(bare),
      }
      return ask([share], name, explained, request)
    },
  }
}

/** Another operation of the same caller, through its own access rule. */
const operating =
  (bare: Cx): Operate =>
  async (operation, request, { call } = {}) => {
    const bound = boundAs(operation)
    if (!bound || !isMessage(request)) throw new Error(`no module binds ${operation}`)
    const { share, method } = bound
    checkValues(method.input, request)
    const admitted = authorise(authority, ruleOf(method), { ...bare, ...call }, request)
    await ask([share], method.localName, admitted, request)
  }

function provision(tx: Transaction): void {
  const name = tx.instance === "i1" ? "id" : tx.instance
  instance.addInstance(tx, { name: "Home", publicUrl: `https://${name}.example.com` })
  org.addOrganization(tx, "org1", { name: "Acme" })
  org.addOrganization(tx, "org2", { name: "Globex" })
  project.addProject(tx, "own", { orgId: "org1", name: "Core" })
  app.addApplication(tx, "console", {
    projectId: "own",
    name: "Console",
    clientId: "console-client",
    config: { kind: "oidc", oidc: { appType: "user_agent", authMethod: "none" } },
  })
  const console = { appId: "console", clientId: "console-client" }
  instance.setOwnResources(tx, { orgId: "org1", projectId: "own", console })
  for (const [id, orgId] of Object.entries(homes)) {
    addUser(tx, id, id === "nobody" ? person(id, orgId) : withPassword(id, orgId))
  }
  const give = (userId: string, target: member.Target, role: string) =>
    member.addMember(tx, { userId, target, roles: [role] })
  give("owner", { level: "instance" }, "IAM_OWNER")
  give("manager", { level: "org", id: "org1" }, "ORG_OWNER")
  give("stranger", { level: "org", id: "org2" }, "ORG_OWNER")
}

export const person = (name: string, orgId: string): NewHuman => ({
  kind: "human",
  orgId,
  userName: name,
  profile: { givenName: name, familyName: "Person" },
  email: { value: `${name}@example.com`, verified: true },
})

/** A person who has chosen a password, which no test needs to know. */
export const withPassword = (name: string, orgId: string): NewHuman => ({
  ...person(name, orgId),
  password: { hash: "$argon2id$", changeRequired: false },
})

const rules = new Map<DescMethod, Access>()
const resources = new Set(Object.keys(authority.resources))

function ruleOf(method: DescMethod): Access {
  const rule = rules.get(method) ?? accessOf(method, resources)
  rules.set(method, rule)
  return rule
}

/** The rule of an operation by its full name. */
function ruleNamed(operation: string): Access | undefined {
  const bound = boundAs(operation)
  return bound && ruleOf(bound.method)
}

/** The share that binds an operation of this full name. */
function boundAs(operation: string) {
  const bound = callable.flatMap((share) =>
    share.service.methods.flatMap((method) =>
      method.localName in share.handlers ? [{ share, method }] : [],
    ),
  )
  return bound.find(({ method }) => nameOf(method) === operation)
}

/** The share that binds an operation; of two with one name v2 has the first word. */
function found(name: string, of = "") {
  const bound = callable.flatMap((share) => {
    const methods: Readonly<Record<string, DescMethod>> = share.service.method
    const method = name in share.handlers ? methods[name] : undefined
    return method && share.service.typeName.includes(of) ? [{ share, method }] : []
  })
  const newest = bound.find(({ share }) => share.service.typeName.includes(".v2.")) ?? bound[0]
  if (!newest) throw new Error(`no module binds ${name}`)
  return newest
}
