import { getOption } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { isChange } from "../../src/api/rank.ts"
import { builtInRoles } from "../../src/domain/member/roles.ts"
import { type Access, access } from "../../src/gen/core/options_pb.ts"
import { formatDifferences, tableOf } from "./table.ts"

/** A rule in the format of the golden list. */
function textOf(rule: Access): string {
  const or = rule.or ? ` or ${textOf(rule.or)}` : ""
  if (rule.either.length > 0) return rule.either.map(textOf).join(" | ") + or
  if (rule.public) return "public"
  if (rule.authenticated) return "authenticated"
  const system = rule.system && ` or system ${rule.system}`
  if (!rule.permission) return `system ${rule.system}${rule.id && ` of instance ${rule.id}`}`
  const search = rule.search ? " search" : ""
  const id = rule.id && ` ${rule.id}`
  const parent = rule.parent && ` of ${rule.parent}`
  const self = rule.self && ` or self ${rule.self}`
  const key = rule.key && ` or key ${rule.key}`
  return `${rule.permission} on ${rule.resource}${search}${id}${parent}${self}${key}${system}${or}`
}

/**
 * How rank limits a change, in the format of the list; "-" if rank does not apply, with the reason.
 */
function rankText({ rank, proof, rankless, or }: Access): string {
  if (rankless) return `- (${rankless})`
  const unless = proof.length > 0 ? ` unless ${proof.join(", ")}` : ""
  return `${rank}${unless}${or ? ` or ${rankText(or)}` : ""}`
}

const golden = tableOf("test/contract/access.tsv")

test("every operation has the access rule of the golden list", () => {
  const said = allServices.flatMap((service) =>
    service.methods.map((method) => {
      const option = getOption(method, access)
      const rule = `${textOf(option)}${option.fresh ? ", fresh" : ""}`
      return [service.typeName, method.name, rule, rankText(option)].join("\t")
    }),
  )
  const listed = golden.map(({ service, rpc, rule, rank }) => [service, rpc, rule, rank].join("\t"))
  const remedy = "mend the rule, or add the row to test/contract/access.tsv with its reason"
  expect(formatDifferences(said, listed), remedy).toEqual([])
})

test("every row of the golden list has a reason", () => {
  const bare = golden.filter(({ reason }) => (reason ?? "").length < 10)
  expect(bare, "test/contract/access.tsv: write into the last column why").toEqual([])
})

test("an operation open to every token has a reason why it exposes no data of others", () => {
  const options = allServices.flatMap((service) =>
    service.methods.map((method) => getOption(method, access)),
  )
  const open = options.filter((option) => option.authenticated !== "")
  expect(open.map(({ authenticated }) => authenticated.length > 20)).not.toContain(false)
})

/** Changes to a user's own account that an old sign-in permits, and why they can't be abused. */
const withoutFreshSignIn: Readonly<Record<string, string>> = {
  "^Verify": "shows a code or a key that was asked for by a recent sign-in, or by somebody else",
  "^(Res|S)end\\w*(Code|Verification)$": "writes to the address that is there already",
  Avatar$: "a picture lets nobody in",
  "^UpdateMyProfile$": "a name to be shown by lets nobody in",
  "^RenamePasskey$": "a name to tell it from others by lets nobody in",
  "^Revoke|^DeleteSession$|^Disconnect(User)?Application$":
    "ends what lets somebody in, and begins nothing",
  "^HumanMFAInitSkipped$": "puts off what is offered, and nothing that is forced",
}

test("changes to the own account require a recent sign-in, or a reason why not", () => {
  const changes = allServices.flatMap((service) => service.methods).filter(isChange)
  const ofOneself = changes.filter((method) => {
    const { authenticated, self, fresh } = getOption(method, access)
    return (authenticated !== "" || self !== "") && !fresh
  })
  const names = ofOneself.map(({ name }) => name)
  const listed = Object.keys(withoutFreshSignIn).map((pattern) => new RegExp(pattern))
  expect(names.filter((name) => !listed.some((pattern) => pattern.test(name)))).toEqual([])
  expect(listed.filter((pattern) => !names.some((name) => pattern.test(name)))).toEqual([])
})

test("some role grants every permission that a rule names", () => {
  const granted = new Set(
    Object.values(builtInRoles).flatMap(({ permissions }) => [...permissions]),
  )
  const named = allServices.flatMap((service) =>
    service.methods.flatMap((method) => permissionsIn(getOption(method, access))),
  )
  expect(named.filter((permission) => !granted.has(permission))).toEqual([])
})

/** The permissions of a rule and its nested rules; access to oneself needs none. */
const permissionsIn = (rule: Access): readonly string[] => [
  ...[rule.permission, rule.self, rule.system].filter(
    (name) => name !== "" && name !== "authenticated",
  ),
  ...[...rule.either, ...(rule.or ? [rule.or] : [])].flatMap(permissionsIn),
]
