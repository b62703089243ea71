// Nobody touches those who may do more: over every operation of the book that has a rank.
import { type DescMethod, fromJson, getOption, type Message, toJson } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { accessOf, authorise } from "../../../src/api/access.ts"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { createOrganization } from "../../../src/domain/org/commands.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { type Access, access } from "../../../src/gen/core/options_pb.ts"
import type { Caller } from "../../../src/kernel/context.ts"
import { authority, operations } from "../../../src/server/modules.ts"
import { person } from "../../support/estate.ts"
import { callerOf, type World } from "../../support/world.ts"
import { goldenRoles, heldOn, openMatrix, requestFor, type Way } from "./matrix.ts"

/** An operation with a rank: by its rule, or by what stands beside it where that doesn't open. */
type Ranked = {
  readonly method: DescMethod
  readonly rule: Access
  readonly requestFor: (id: string) => Message
}

const wayOf = ({ permission, resource, id, parent, self }: Access): Way => ({
  permission,
  resource,
  id,
  parent,
  self,
  isSearch: false,
})

const ranked: readonly Ranked[] = (await operations()).flatMap(({ method }) => {
  const rule = getOption(method, access)
  const own = (id: string) => requestFor(method, wayOf(rule), id)
  if (rule.rank === "instance" && rule.permission === "") {
    const whole = () => fromJson(method.input, { instance: true })
    return [{ method, rule, requestFor: whole }]
  }
  if (!rule.or) return rule.rank === "" ? [] : [{ method, rule, requestFor: own }]
  const { or, either } = rule
  const first = either.find(({ resource }) => resource === "org") ?? rule
  const beside = (id: string) => {
    const closed = toJson(method.input, requestFor(method, wayOf(first), "nobody's"))
    const open = toJson(method.input, requestFor(method, wayOf(or), id))
    return fromJson(method.input, { ...Object(closed), ...Object(open) })
  }
  return [
    { method, rule, requestFor: own },
    { method, rule: or, requestFor: beside },
  ]
})
const of = (...ranks: string[]) => ranked.filter(({ rule }) => ranks.includes(rule.rank))

let world: World
beforeAll(async () => {
  world = await openMatrix()
  await createOrganization(world.cx(), "aside", { name: "aside" })
  for (const permission of narrow.keys()) {
    const key = narrow.get(permission) ?? ""
    await createRole(world.cx(), {
      key,
      displayName: key,
      level: "instance",
      permissions: [permission],
    })
    await world.store.transact(world.cx(), (tx) => {
      addUser(tx, key, person(key, "aside"))
      addMember(tx, { userId: key, target: { level: "instance" }, roles: [key] })
    })
  }
})
afterAll(() => world.close())

/** For each permission of these rules a role that is nothing but it, held on the instance. */
const narrow = new Map(
  ranked
    .flatMap(({ rule }) => [rule, ...rule.either])
    .filter(({ permission }) => permission !== "")
    .map(({ permission }) => [permission, `ONLY.${permission}`.replaceAll(":", "_")]),
)

type Subject = { readonly name: string; readonly caller: Caller; readonly holds: Holds }
type Holds = ReadonlySet<string>

const owner = "IAM_OWNER"

/** Every built-in role on alpha or above, and everybody who has but one permission. */
const subjects: readonly Subject[] = [
  ...[...goldenRoles].flatMap(([name, { level, permissions: holds }]) =>
    heldOn[level] ? [{ name, caller: callerOf(`alpha.${name}`, "alpha"), holds }] : [],
  ),
  ...[...narrow].map(([permission, name]) => ({
    name,
    caller: callerOf(name, "aside"),
    holds: new Set([permission]),
  })),
]

const resources = new Set(Object.keys(authority.resources))

/** What comes of it where the request names this user, or this organisation. */
function outcome({ caller }: Pick<Subject, "caller">, each: Ranked, id: string): string {
  const { scope: _, ...cx } = world.cx({ caller })
  try {
    authorise(authority, accessOf(each.method, resources), cx, each.requestFor(id))
    return "allowed"
  } catch (refusal) {
    return (refusal as { readonly id: string }).id
  }
}

describe.each(of("user", "stopped", "acting").map((each) => [each.method.name, each] as const))(
  "%s",
  (_, each) => {
    /** Those who reach the people of alpha by it at all; the rest is the rule's own business. */
    const reaching = () => subjects.filter((who) => outcome(who, each, "alpha-user") === "allowed")

    test("reaches an owner of the instance by nobody but owners", () => {
      const others = reaching().filter(({ name }) => name !== owner)
      expect(others.length).toBeGreaterThan(0)
      const seen = others.map((who) => [who.name, outcome(who, each, `alpha.${owner}`)])
      expect(seen).toEqual(others.map(({ name }) => [name, "user.outranks_you"]))
      const equal = { caller: callerOf(`alpha.${owner}`, "alpha") }
      expect(outcome(equal, each, `alpha.${owner}`)).toBe("allowed")
    })

    test("reaches who has a role on a project by nobody who lacks it", () => {
      const above = [...(goldenRoles.get("PROJECT_OWNER")?.permissions ?? [])]
      const seen = reaching().map((who) => [who.name, outcome(who, each, "alpha.PROJECT_OWNER")])
      const wanted = reaching().map(({ name, holds }) => [
        name,
        name === owner || above.every((one) => holds.has(one)) ? "allowed" : "user.outranks_you",
      ])
      expect(seen).toEqual(wanted)
      expect(wanted.map(([, end]) => end)).toContain("user.outranks_you")
    })
  },
)

describe.each(of("org").map((each) => [each.method.name, each] as const))("%s", (_, each) => {
  const reaching = () => subjects.filter((who) => outcome(who, each, "guest") === "allowed")

  test("stops no organisation that an owner of the instance lives in, but by owners", () => {
    expect(reaching().length).toBeGreaterThan(1)
    const seen = subjects.filter((who) => outcome(who, each, "alpha") === "allowed")
    expect(seen.map(({ name }) => name)).toEqual([owner])
  })

  test("counts everybody who administers it and lives there", () => {
    const seen = reaching().filter((who) => outcome(who, each, "beta") === "org.outranks_you")
    const own = [...(goldenRoles.get("ORG_OWNER")?.permissions ?? [])]
    const less = reaching().filter(
      ({ name, holds }) => name !== owner && !own.every((one) => holds.has(one)),
    )
    expect(less.length).toBeGreaterThan(0)
    expect(seen.map(({ name }) => name)).toEqual(less.map(({ name }) => name))
  })
})

describe.each(of("instance").map((each) => [each.method.name, each] as const))("%s", (_, each) => {
  test("reaches everybody on the instance, so nobody but owners may", () => {
    const ends = subjects.map((who) => [who.name, outcome(who, each, "")] as const)
    const allowed = ends.flatMap(([name, end]) => (end === "allowed" ? [name] : []))
    const below = ends.flatMap(([name, end]) => (end === "instance.outranks_you" ? [name] : []))
    expect(allowed).toEqual([owner])
    const permission = each.rule.permission || each.rule.either.at(-1)?.permission
    expect(below).toContain(narrow.get(permission ?? ""))
  })
})
