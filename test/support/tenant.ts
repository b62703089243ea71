import { create, type DescMethod, isMessage } from "@bufbuild/protobuf"
import { authorize } from "../../src/api/access.ts"
import { type Access, accessOf } from "../../src/api/access-rule.ts"
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
import type { Call, CallOperation } from "../../src/kernel/context.ts"
import { aggregates, authority, modules, views } from "../../src/server/modules.ts"
import type { Cx, Transaction } from "../../src/store/index.ts"
import { callOperation } from "./call-operation.ts"
import { callerOf, openTestEnvironment, type TestEnvironment } from "./test-environment.ts"
import { userModules } from "./user-modules.ts"

type OperationModule = Extract<(typeof modules)[number], { readonly operations: unknown }>
const operationModules = modules.filter((each): each is OperationModule => "operations" in each)

const sharesOf = async (chosen: readonly OperationModule[]) =>
  (await Promise.all(chosen.map(({ operations }) => operations()))).flatMap(({ shares }) => [
    ...shares,
  ])

/** Modules with separate tests. */
const separatelyTested = new Set<OperationModule>([
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
const shares = await sharesOf(operationModules.filter((each) => !separatelyTested.has(each)))

/** The operations of the tenant's modules, except "healthz", which reads nothing. */
export const operationNames: ReadonlySet<string> = new Set(
  shares.flatMap(({ handlers }) => Object.keys(handlers)).filter((name) => name !== "healthz"),
)

/** Operations about users have separate tests, and can be called here as well. */
const callable = [
  ...shares,
  ...(await sharesOf([...userModules, session, grant, messageProvider, message, idp, federation])),
]

/** Users of the tenant, by their organization. */
const orgOfPerson = {
  owner: "org1",
  manager: "org1",
  nobody: "org1",
  stranger: "org2",
} as const
export type TenantUser = keyof typeof orgOfPerson | "system"

/** A system user with permission on several instances. */
const systemCaller: Call["caller"] = {
  kind: "system",
  name: "ops",
  roles: ["SYSTEM_OWNER"],
  publicUrl: "https://id.example.com",
}

export type Tenant = TestEnvironment & {
  /** Calls an operation as a user, through its access rule; `of` names a v1 service. */
  readonly as: (
    person: TenantUser,
    name: string,
    request?: object,
    call?: { readonly of?: string; readonly cx?: Partial<Call> },
  ) => Promise<any>
  readonly step: (act: (tx: Transaction) => void, call?: Partial<Call>) => Promise<void>
}

/**
 * Two organizations: org1 is the default and contains our own project; its manager owns it, and the
 * stranger owns org2. The owner owns the instance, and `nobody` has no role.
 */
export async function openTenant(instances: readonly string[] = ["i1"]): Promise<Tenant> {
  const environment = openTestEnvironment({ aggregates, views })
  for (const id of instances) {
    await environment.store.transact(environment.cx({ instance: id }), (tx) => createResources(tx))
  }
  return {
    ...environment,
    step: async (act, call) => void (await environment.store.transact(environment.cx(call), act)),
    as: (person, name, request = {}, { of, cx = {} } = {}) => {
      const { method, share } = findShare(name, of)
      const { scope: _, ...bare } = environment.cx({
        caller: person === "system" ? systemCaller : callerOf(person, orgOfPerson[person]),
        ...cx,
      })
      const admitted = authorize(
        authority,
        ruleOf(method),
        bare,
        create(method.input, request as never),
      )
      const explained = {
        ...admitted,
        explain: (question: AccessQuestion) => explain(authority, bare, findRuleByName, question),
        operate: createOperate(bare),
      }
      return callOperation([share], name, explained, request)
    },
  }
}

/** Another operation of the same caller, through its own access rule. */
const createOperate =
  (bare: Cx): CallOperation =>
  async (operation, request, { call } = {}) => {
    const bound = findShareByFullName(operation)
    if (!bound || !isMessage(request)) throw new Error(`no module binds ${operation}`)
    const { share, method } = bound
    checkValues(method.input, request)
    const admitted = authorize(authority, ruleOf(method), { ...bare, ...call }, request)
    await callOperation([share], method.localName, admitted, request)
  }

function createResources(tx: Transaction): void {
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
  for (const [id, orgId] of Object.entries(orgOfPerson)) {
    addUser(tx, id, id === "nobody" ? humanInput(id, orgId) : humanWithPassword(id, orgId))
  }
  const give = (userId: string, target: member.Target, role: string) =>
    member.addMember(tx, { userId, target, roles: [role] })
  give("owner", { level: "instance" }, "IAM_OWNER")
  give("manager", { level: "org", id: "org1" }, "ORG_OWNER")
  give("stranger", { level: "org", id: "org2" }, "ORG_OWNER")
}

export const humanInput = (name: string, orgId: string): NewHuman => ({
  kind: "human",
  orgId,
  userName: name,
  profile: { givenName: name, familyName: "Person" },
  email: { value: `${name}@example.com`, verified: true },
})

/** A user with a password that tests don't need to know. */
export const humanWithPassword = (name: string, orgId: string): NewHuman => ({
  ...humanInput(name, orgId),
  password: { hash: "$argon2id$", changeRequired: false },
})

const rules = new Map<DescMethod, Access>()
const resources = new Set(Object.keys(authority.resources))

function ruleOf(method: DescMethod): Access {
  const rule = rules.get(method) ?? accessOf(method, resources)
  rules.set(method, rule)
  return rule
}

/** The access rule of an operation, by its full name. */
function findRuleByName(operation: string): Access | undefined {
  const bound = findShareByFullName(operation)
  return bound && ruleOf(bound.method)
}

/** The share with an operation of this full name. */
function findShareByFullName(operation: string) {
  const bound = callable.flatMap((share) =>
    share.service.methods.flatMap((method) =>
      method.localName in share.handlers ? [{ share, method }] : [],
    ),
  )
  return bound.find(({ method }) => nameOf(method) === operation)
}

/** The share with an operation; v2 takes precedence for equal names. */
function findShare(name: string, of = "") {
  const bound = callable.flatMap((share) => {
    const methods: Readonly<Record<string, DescMethod>> = share.service.method
    const method = name in share.handlers ? methods[name] : undefined
    return method && share.service.typeName.includes(of) ? [{ share, method }] : []
  })
  const newest = bound.find(({ share }) => share.service.typeName.includes(".v2.")) ?? bound[0]
  if (!newest) throw new Error(`no module binds ${name}`)
  return newest
}
