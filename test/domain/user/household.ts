// Loads rank comparison for the policies of organizations.

import { module as group } from "../../../src/domain/group/index.ts"
import * as instances from "../../../src/domain/instance/index.ts"
import { module as member } from "../../../src/domain/member/index.ts"
import * as orgs from "../../../src/domain/org/index.ts"
import { orgView } from "../../../src/domain/org/view.ts"
import * as policies from "../../../src/domain/policy/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import type { NewHuman, NewMachine } from "../../../src/domain/user/index.ts"
import type { Cx } from "../../../src/store/index.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"
import * as people from "../../support/user-modules.ts"

/**
 * A world with an instance and two organizations, with the domains acme.localhost and
 * globex.localhost.
 */
export async function openUserWorld(
  instance = "i1",
  options: Pick<Parameters<typeof openTestEnvironment>[0], "textIndexFrom"> = {},
): Promise<TestEnvironment> {
  const world = openTestEnvironment({
    ...options,
    aggregates: [instances.instance, orgs.org, ...policies.module.aggregates, ...people.aggregates],
    views: [orgView, ...people.views, ...group.views, ...member.views],
  })
  await provision(world.cx({ instance }))
  return world
}

/** Provisions an instance for users; each instance has its own address. */
export async function provision(cx: Cx): Promise<void> {
  const host = cx.instance === "i1" ? "localhost" : `${cx.instance}.localhost`
  await cx.store.transact(cx, (tx) => {
    instances.addInstance(tx, { name: "Home", publicUrl: `http://${host}:8080` })
    orgs.addOrganization(tx, "org1", { name: "Acme" })
    orgs.addOrganization(tx, "org2", { name: "Globex" })
  })
}

export function human(change: Partial<NewHuman> = {}): NewHuman {
  return {
    kind: "human",
    orgId: "org1",
    userName: "anna",
    profile: { givenName: "Anna", familyName: "Berg" },
    email: { value: "anna@example.com", verified: true },
    ...change,
  }
}

export function machine(change: Partial<NewMachine> = {}): NewMachine {
  return {
    kind: "machine",
    orgId: "org1",
    userName: "robot",
    name: "Robot",
    accessTokenType: "bearer",
    ...change,
  }
}

export const createAnna = (cx: Cx, change: Partial<NewHuman> = {}) =>
  createUser(cx, "u1", human(change))

export const createRobot = (cx: Cx, change: Partial<NewMachine> = {}, id = "m1") =>
  createUser(cx, id, machine(change))
