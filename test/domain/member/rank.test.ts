// No one can act on users with more permissions: for every operation with a rank.
import { type DescMethod, fromJson, getOption, type Message, toJson } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { authorize } from "../../../src/api/access.ts"
import { accessOf } from "../../../src/api/access-rule.ts"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { type Access, access } from "../../../src/gen/core/options_pb.ts"
import type { Caller } from "../../../src/kernel/context.ts"
import { authority, loadOperations } from "../../../src/server/modules.ts"
import { humanInput } from "../../support/tenant.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import { type AccessPath, goldenRoles, levelsByName, openMatrix, requestFor } from "./matrix.ts"

/** An operation with a rank: by its rule, or by an alternative rule. */
type RankedOperation = {
  readonly method: DescMethod
  readonly rule: Access
  readonly requestFor: (id: string) => Message
}

const accessWayOf = ({ permission, resource, id, parent, self }: Access): AccessPath => ({
  permission,
  resource,
  id,
  parent,
  self,
  isSearch: false,
})

const rankedOperations: readonly RankedOperation[] = (await loadOperations()).flatMap(
  ({ method }) => {
    const rule = getOption(method, access)
    const own = (id: string) => requestFor(method, accessWayOf(rule), id)
    if (rule.rank === "instance" && rule.permission === "") {
      const whole = () => fromJson(method.input, { instance: true })
      return [{ method, rule, requestFor: whole }]
    }
    if (!rule.or) return rule.rank === "" ? [] : [{ method, rule, requestFor: own }]
    const { or, either } = rule
    const first = either.find(({ resource }) => resource === "org") ?? rule
    const beside = (id: string) => {
      const closed = toJson(method.input, requestFor(method, accessWayOf(first), "nobody's"))
      const open = toJson(method.input, requestFor(method, accessWayOf(or), id))
      return fromJson(method.input, { ...Object(closed), ...Object(open) })
    }
    return [
      { method, rule, requestFor: own },
      { method, rule: or, requestFor: beside },
    ]
  },
)
const withRanks = (...ranks: string[]) =>
  rankedOperations.filter(({ rule }) => ranks.includes(rule.rank))

let world: TestEnvironment
beforeAll(async () => {
  world = await openMatrix()
  await createOrganization(world.cx(), "aside", { name: "aside" })
  for (const permission of singlePermissionRoles.keys()) {
    const key = singlePermissionRoles.get(permission) ?? ""
    await createRole(world.cx(), {
      key,
      displayName: key,
      level: "instance",
      permissions: [permission],
    })
    await world.store.transact(world.cx(), (tx) => {
      addUser(tx, key, humanInput(key, "aside"))
      addMember(tx, { userId: key, target: { level: "instance" }, roles: [key] })
    })
  }
})
afterAll(() => world.close())

/** For each permission of these rules, a role on the instance with only this permission. */
const singlePermissionRoles = new Map(
  rankedOperations
    .flatMap(({ rule }) => [rule, ...rule.either])
    .filter(({ permission }) => permission !== "")
    .map(({ permission }) => [permission, `ONLY.${permission}`.replaceAll(":", "_")]),
)

type Subject = { readonly name: string; readonly caller: Caller; readonly holds: PermissionSet }
type PermissionSet = ReadonlySet<string>

const owner = "IAM_OWNER"

/** Every built-in role on alpha or above, and a user for each single permission. */
const subjects: readonly Subject[] = [
  ...[...goldenRoles].flatMap(([name, { level, permissions: holds }]) =>
    levelsByName[level] ? [{ name, caller: callerOf(`alpha.${name}`, "alpha"), holds }] : [],
  ),
  ...[...singlePermissionRoles].map(([permission, name]) => ({
    name,
    caller: callerOf(name, "aside"),
    holds: new Set([permission]),
  })),
]

const resources = new Set(Object.keys(authority.resources))

/** The outcome if the request names this user or organization. */
function outcome({ caller }: Pick<Subject, "caller">, each: RankedOperation, id: string): string {
  const { scope: _, ...cx } = world.cx({ caller })
  try {
    authorize(authority, accessOf(each.method, resources), cx, each.requestFor(id))
    return "allowed"
  } catch (refusal) {
    return (refusal as { readonly id: string }).id
  }
}

describe.each(
  withRanks("user", "stopped", "acting").map((each) => [each.method.name, each] as const),
)("%s", (_, each) => {
  /** Subjects that the rule permits to reach users of alpha at all. */
  const reaching = () => subjects.filter((user) => outcome(user, each, "alpha-user") === "allowed")

  test("reaches an instance owner only for owners", () => {
    const others = reaching().filter(({ name }) => name !== owner)
    expect(others.length).toBeGreaterThan(0)
    const seen = others.map((user) => [user.name, outcome(user, each, `alpha.${owner}`)])
    expect(seen).toEqual(others.map(({ name }) => [name, "user.outranks_you"]))
    const equal = { caller: callerOf(`alpha.${owner}`, "alpha") }
    expect(outcome(equal, each, `alpha.${owner}`)).toBe("allowed")
  })

  test("reaches a user with a project role only for callers who have its permissions", () => {
    const above = [...(goldenRoles.get("PROJECT_OWNER")?.permissions ?? [])]
    const seen = reaching().map((user) => [user.name, outcome(user, each, "alpha.PROJECT_OWNER")])
    const wanted = reaching().map(({ name, holds }) => [
      name,
      name === owner || above.every((one) => holds.has(one)) ? "allowed" : "user.outranks_you",
    ])
    expect(seen).toEqual(wanted)
    expect(wanted.map(([, end]) => end)).toContain("user.outranks_you")
  })
})

describe.each(withRanks("org").map((each) => [each.method.name, each] as const))(
  "%s",
  (_, each) => {
    const reaching = () => subjects.filter((user) => outcome(user, each, "guest") === "allowed")

    test("deactivates the organization of an instance owner only for owners", () => {
      expect(reaching().length).toBeGreaterThan(1)
      const seen = subjects.filter((user) => outcome(user, each, "alpha") === "allowed")
      expect(seen.map(({ name }) => name)).toEqual([owner])
    })

    test("considers all its administrators who belong to it", () => {
      const seen = reaching().filter((user) => outcome(user, each, "beta") === "org.outranks_you")
      const own = [...(goldenRoles.get("ORG_OWNER")?.permissions ?? [])]
      const less = reaching().filter(
        ({ name, holds }) => name !== owner && !own.every((one) => holds.has(one)),
      )
      expect(less.length).toBeGreaterThan(0)
      expect(seen.map(({ name }) => name)).toEqual(less.map(({ name }) => name))
    })
  },
)

describe.each(withRanks("instance").map((each) => [each.method.name, each] as const))(
  "%s",
  (_, each) => {
    test("reaches every user of the instance and is therefore permitted to owners only", () => {
      const ends = subjects.map((user) => [user.name, outcome(user, each, "")] as const)
      const allowed = ends.flatMap(([name, end]) => (end === "allowed" ? [name] : []))
      const below = ends.flatMap(([name, end]) => (end === "instance.outranks_you" ? [name] : []))
      expect(allowed).toEqual([owner])
      const permission = each.rule.permission || each.rule.either.at(-1)?.permission
      expect(below).toContain(singlePermissionRoles.get(permission ?? ""))
    })
  },
)
