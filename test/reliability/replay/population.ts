import { removeProjectWithApps } from "../../../src/domain/app/commands.ts"
import * as app from "../../../src/domain/app/index.ts"
import { setPassword } from "../../../src/domain/credential/index.ts"
import { instance } from "../../../src/domain/instance/index.ts"
import * as member from "../../../src/domain/member/index.ts"
import * as project from "../../../src/domain/project/index.ts"
import { addServiceKey } from "../../../src/domain/service-account/index.ts"
import { firstInstance } from "../../../src/domain/setup/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { lockUser, removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import type { Secrets } from "../../../src/kernel/crypto/secret.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { createIds } from "../../../src/kernel/id.ts"
import type { Cx, Store } from "../../../src/store/index.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openDatabase } from "../audit.ts"

const writers = 64

/**
 * Fills a stopped server's database until its log has the given number of events: users and service
 * accounts that are created, changed and removed, with projects and applications. Erased data is
 * really erased.
 */
export async function fillDatabase(file: string, events: number): Promise<void> {
  const store = openDatabase(file)
  const cx: Cx = {
    store,
    clock: systemClock,
    ids: createIds(systemClock, 1),
    random: systemRandom,
    secrets: createNoSecrets(),
    outside: unreachableOutside,
    warn: () => {},
    instance: firstInstance,
    caller: { kind: "system", name: "population" },
    requestId: "population",
    languages: [],
  }
  const orgId = findDefaultOrg(store)
  let count = 0
  const write = async () => {
    while (store.log.durable() < events) await addUser(cx, orgId, count++)
  }
  await Promise.all(Array.from({ length: writers }, write))
  await store.close()
}

const findDefaultOrg = (store: Store): string =>
  store.state({ instance: firstInstance }, instance, firstInstance).defaultOrgId

/** One user, their project and its service account; every third of each is removed. */
async function addUser(cx: Cx, orgId: string, count: number): Promise<void> {
  const name = `person-${count}`
  const hash = (round: number) => `$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$${round}${name}`
  await createUser(cx, name, {
    kind: "human",
    orgId,
    userName: name,
    profile: { givenName: `Given ${count}`, familyName: "Lived" },
    email: { value: `${name}@example.com`, verified: count % 2 === 0 },
    phone: { value: `+4179${1_000_000 + count}`, verified: false },
    password: { hash: hash(0), changeRequired: false },
  })
  await setPassword(cx, name, { hash: hash(1), changeRequired: true })
  await updateUser(cx, name, {
    userName: `renamed-${count}`,
    human: { profile: { nickName: "N" }, email: { value: `${name}@new.example`, verified: true } },
  })
  await addProject(cx, { orgId, userId: name, count })
  if (count % 3 === 0) await removeUser(cx, name)
  else if (count % 5 === 0) await lockUser(cx, name)
}

/** Removing a project removes its applications; removing a service account removes its key. */
async function addProject(
  cx: Cx,
  { orgId, userId, count }: { orgId: string; userId: string; count: number },
): Promise<void> {
  const projectId = `project-${count}`
  const appId = `app-${count}`
  const robotId = `robot-${count}`
  await cx.store.transact(cx, (tx) => {
    project.addProject(tx, projectId, { orgId, name: projectId })
    member.addMember(tx, {
      target: { level: "project", id: projectId },
      userId,
      roles: ["PROJECT_OWNER"],
    })
  })
  const config = { kind: "oidc", oidc: { appType: "user_agent", authMethod: "none" } } as const
  await cx.store.transact(cx, (tx) =>
    app.addApplication(tx, appId, { projectId, name: appId, clientId: `client-${count}`, config }),
  )
  await createUser(cx, robotId, {
    kind: "machine",
    orgId,
    userName: robotId,
    name: "Robot",
    accessTokenType: "bearer",
  })
  const key = { keyId: `key-${count}`, publicKey: "pem", expires: neverExpires }
  await addServiceKey(cx, robotId, key)
  if (count % 3 === 1) await removeProjectWithApps(cx, projectId)
  if (count % 3 === 2) await removeUser(cx, robotId)
}

/** Nothing here is encrypted, so the server's keys are not needed. */
function createNoSecrets(): Secrets {
  const refuse = () => {
    throw new Error("the population has no secrets")
  }
  return { seal: refuse, open: refuse, hash: refuse, matches: refuse, signer: refuse }
}
