import { setImmediate as nextTurn } from "node:timers/promises"
import type { Authority } from "../api/access.ts"
import * as action from "../domain/action/index.ts"
import * as app from "../domain/app/index.ts"
import * as appAccess from "../domain/app-access/index.ts"
import * as asset from "../domain/asset/index.ts"
import * as authorization from "../domain/authorization/index.ts"
import * as credential from "../domain/credential/index.ts"
import * as factor from "../domain/factor/index.ts"
import * as feature from "../domain/feature/index.ts"
import * as federation from "../domain/federation/index.ts"
import * as grant from "../domain/grant/index.ts"
import * as group from "../domain/group/index.ts"
import * as history from "../domain/history/index.ts"
import * as idp from "../domain/idp/index.ts"
import * as instance from "../domain/instance/index.ts"
import * as key from "../domain/key/index.ts"
import * as lockout from "../domain/lockout/index.ts"
import * as member from "../domain/member/index.ts"
import * as message from "../domain/message/index.ts"
import * as messageProvider from "../domain/message-provider/index.ts"
import * as milestone from "../domain/milestone/index.ts"
import * as org from "../domain/org/index.ts"
import * as orgCascade from "../domain/org-cascade/index.ts"
import * as policy from "../domain/policy/index.ts"
import * as project from "../domain/project/index.ts"
import * as projectGrant from "../domain/project-grant/index.ts"
import * as quota from "../domain/quota/index.ts"
import * as refusal from "../domain/refusal/index.ts"
import * as registration from "../domain/registration/index.ts"
import * as serviceAccount from "../domain/service-account/index.ts"
import * as session from "../domain/session/index.ts"
import * as setup from "../domain/setup/index.ts"
import * as signUp from "../domain/sign-up/index.ts"
import * as target from "../domain/target/index.ts"
import * as text from "../domain/text/index.ts"
import * as transfer from "../domain/transfer/index.ts"
import * as user from "../domain/user/index.ts"
import * as userLink from "../domain/user-link/index.ts"
import * as userLookup from "../domain/user-lookup/index.ts"
import * as userModel from "../domain/user-model/index.ts"
import type { Outbound } from "../kernel/port/outbound.ts"
import * as oauth from "../oauth/index.ts"
import * as saml from "../saml/index.ts"
import type { AnyAggregate, CallFactory, Cx, Reactor, View } from "../store/index.ts"

/**
 * All modules. A module can use only the modules before it; test/tidy.test.ts reads the order here.
 */
export const modules = [
  instance.module,
  feature.module,
  quota.module,
  key.module,
  policy.module,
  text.module,
  messageProvider.module,
  idp.module,
  org.module,
  userModel.module,
  lockout.module,
  credential.module,
  factor.module,
  userLink.module,
  user.module,
  userLookup.module,
  serviceAccount.module,
  registration.module,
  federation.module,
  asset.module,
  message.module,
  group.module,
  project.module,
  projectGrant.module,
  app.module,
  member.module,
  signUp.module,
  authorization.module,
  appAccess.module,
  target.module,
  action.module,
  orgCascade.module,
  transfer.module,
  session.module,
  grant.module,
  milestone.module,
  history.module,
  refusal.module,
  setup.module,
] as const satisfies readonly Module[]

/** The parts of a module; all are optional. */
type Module = Streams & {
  /** Its read models. */
  readonly views?: readonly View[]
  /** The owners of resources for access rules, by kind of resource. */
  readonly chains?: Authority<Cx>["resources"]
  /** The key checks of resources, by kind of resource. */
  readonly keys?: Authority<Cx>["keys"]
  /** Side effects of events, outside of transactions. */
  readonly reactors?: readonly ((call: CallFactory, outbound: Outbound) => Reactor)[]
  /** The API operations, loaded on the first call. */
  readonly operations?: () => Promise<{ readonly shares: readonly object[] }>
}

/** A module with streams can define how their events are shown and undone, in its history.ts. */
type Streams =
  | {
      readonly aggregates: readonly AnyAggregate[]
      readonly history?: NonNullable<AnyAggregate["history"]>
    }
  | { readonly aggregates?: undefined; readonly history?: undefined }

const every = [...modules, oauth.module, saml.module] as const
const moduleList: readonly Module[] = every
type ModuleWithOperations = Extract<(typeof every)[number], { readonly operations: unknown }>

export const aggregates = moduleList.flatMap(({ aggregates = [], history }) =>
  aggregates.map((each): AnyAggregate => (history ? { ...each, history } : each)),
)

export const views = moduleList.flatMap((each) => each.views ?? [])

export const reactors = (call: CallFactory, outbound: Outbound): readonly Reactor[] =>
  moduleList.flatMap((each) => each.reactors ?? []).map((make) => make(call, outbound))

/** All operations with their handlers. Loading takes 0.1 s, so it yields to other requests. */
export async function loadOperations() {
  const read: Awaited<ReturnType<ModuleWithOperations["operations"]>>[] = []
  for (const each of every) {
    if (!("operations" in each)) continue
    read.push(await each.operations())
    await nextTurn()
  }
  const [{ allServices }, { bindServices }] = await Promise.all([
    import("../api/book.ts"),
    import("../api/method.ts"),
  ])
  return bindServices(
    allServices,
    read.flatMap(({ shares }) => [...shares]),
  )
}

/** The access data of all modules. */
export const authority: Authority<Cx> = {
  resources: Object.fromEntries(moduleList.flatMap(({ chains = {} }) => Object.entries(chains))),
  keys: Object.fromEntries(moduleList.flatMap(({ keys = {} }) => Object.entries(keys))),
  memberships: member.listMemberships,
  permissions: member.rolePermissions,
  isActive: member.isActive,
  outranks: member.outranks,
  outranksStoppers: member.outranksDeactivators,
  outranksAll: member.outranksOrg,
  outranksInstance: member.outranksInstance,
}
