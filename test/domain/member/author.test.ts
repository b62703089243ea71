// For every operation: a change by a target must be permitted to its author as if the author were
// the caller.
import type { Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { authorize } from "../../../src/api/access.ts"
import { type Access, accessOf } from "../../../src/api/access-rule.ts"
import { permitAuthors } from "../../../src/api/author.ts"
import { createRole } from "../../../src/domain/member/custom-role-commands.ts"
import { addMember } from "../../../src/domain/member/index.ts"
import { addUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { authority } from "../../../src/server/modules.ts"
import { humanInput } from "../../support/tenant.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import {
  accessWaysOf,
  goldenRoles,
  levelsByName,
  openMatrix,
  operationRules,
  requestFor,
} from "./matrix.ts"

const targetRole = "narrow"
const deactivated = "deactivated"
const otherOwner = "other-owner"
const owner = "alpha.IAM_OWNER"

let world: TestEnvironment
beforeAll(async () => {
  world = await openMatrix()
  await createRole(world.cx(), {
    key: "TARGETS",
    displayName: "Targets",
    level: "instance",
    permissions: ["action.target.write", "action.execution.write"],
  })
  const roles = { [targetRole]: "TARGETS", [deactivated]: "IAM_OWNER", [otherOwner]: "IAM_OWNER" }
  await world.store.transact(world.cx(), (tx) => {
    for (const [userId, role] of Object.entries(roles)) {
      addUser(tx, userId, humanInput(userId, "alpha"))
      addMember(tx, { userId, target: { level: "instance" }, roles: [role] })
    }
    tx.append(user, deactivated, [{ type: "user.deactivated", data: {} }])
  })
})
afterAll(() => world.close())

const resources = new Set(Object.keys(authority.resources))

type OperationCase = { readonly name: string; readonly access: Access; readonly request: Message }

/** All operations that a target can have a say in, and each way into it. */
const operationCases: readonly OperationCase[] = operationRules.flatMap(({ method, rule }) => {
  const access = accessOf(method, resources)
  const ways = accessWaysOf(rule)
  const name = `${method.parent.typeName}/${method.name}`
  if (ways === "public" || ways === "system") return []
  if (ways === "authenticated") return [{ name, access, request: create(method.input) }]
  return ways.map((mode) => ({ name, access, request: requestFor(method, mode) }))
})

const outcomeOf = (act: () => unknown): string => {
  try {
    act()
    return "allowed"
  } catch (refusal) {
    return (refusal as { readonly id: string }).id
  }
}

/** The result of an owner's request that another user's target has changed. */
function asAuthor({ access, request }: OperationCase, userId: string): string {
  const { scope: _, ...cx } = world.cx({ caller: callerOf(owner, "alpha") })
  return outcomeOf(() => {
    const called = authorize(authority, access, cx, request)
    return permitAuthors(authority, access, { ...called, authors: [userId] }, request)
  })
}

/** The result if the author calls the operation. */
function asCaller({ access, request }: OperationCase, userId: string): string {
  const { scope: _, ...cx } = world.cx({ caller: callerOf(userId, "alpha") })
  return outcomeOf(() => authorize(authority, access, cx, request))
}

const isOwnReading = ({ access }: OperationCase) =>
  access.kind === "authenticated" && !access.changes

describe("a request that a target has changed", () => {
  test("is denied if the author can only manage targets", () => {
    const others = operationCases.filter((each) => !isOwnReading(each))
    expect(others.length).toBeGreaterThan(500)
    const admitted = others.filter((each) => asAuthor(each, targetRole) === "allowed")
    const own = /\/(Create|Update|Delete|Patch|Set)(Target|Execution)$|PublicKey$/
    expect(admitted.map(({ name }) => name).filter((name) => !own.test(name))).toEqual([])
  })

  test("is denied if the author is deactivated", () => {
    expect(operationCases.filter((each) => asAuthor(each, deactivated) === "allowed")).toEqual([])
  })

  test("is permitted if the author owns the instance", () => {
    const refused = operationCases.filter((each) => {
      const isTheirs = asCaller(each, owner) === "allowed"
      return isTheirs !== (asAuthor(each, otherOwner) === "allowed")
    })
    expect(refused.map(({ name }) => name)).toEqual([])
  })

  const roles = [...goldenRoles].flatMap(([name, { level }]) => (levelsByName[level] ? [name] : []))
  test.each(roles)("is permitted to %s only as far as their own requests", (role) => {
    const userId = `alpha.${role}`
    const beyond = operationCases.filter(
      (each) => asAuthor(each, userId) === "allowed" && asCaller(each, userId) !== "allowed",
    )
    expect(beyond.map(({ name }) => name)).toEqual([])
  })
})
