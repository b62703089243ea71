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
import { never } from "../../../src/kernel/crypto/signing-key.ts"
import { idsOf } from "../../../src/kernel/id.ts"
import type { Cx, Store } from "../../../src/store/index.ts"
import { nowhere } from "../../support/outside.ts"
import { openDatabase } from "../audit.ts"

const writers = 64

/**
 * Lives in a stopped server's database until its log holds so many events: people and service
 * users who come, change and leave, with projects and applications. What they erase is erased.
 */
export async function populate(file: string, events: number): Promise<void> {
  const store = openDatabase(file)
  const cx: Cx = {
    store,
    clock: systemClock,
    ids: idsOf(systemClock, 1),
    random: systemRandom,
    secrets: noSecrets(),
    outside: nowhere,
    warn: () => {},
    instance: firstInstance,
    caller: { kind: "system", name: "population" },
    requestId: "population",
    languages: [],
  }
  const orgId = homeOf(store)
  let count = 0
  const write = async () => {
    while (store.log.durable() < events) await live(cx, orgId, count++)
  }
  await Promise.all(Array.from({ length: writers }, write))
  await store.close()
}

const homeOf = (store: Store): string =>
  store.state({ instance: firstInstance }, instance, firstInstance).defaultOrgId

/** One person, their project and its robot; every third of each leaves. */
async function live(cx: Cx, orgId: string, count: number): Promise<void> {
  const name = `person-${count}`
  const hash = (turn: number) => `$argon2id$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$${turn}${name}`
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
  await work(cx, { orgId, userId: name, count })
  if (count % 3 === 0) await removeUser(cx, name)
  else if (count % 5 === 0) await lockUser(cx, name)
}

/** Removing a project takes its applications along; removing a service user takes their key. */
async function work(
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
  const key = { keyId: `key-${count}`, publicKey: "pem", expires: never }
  await addServiceKey(cx, robotId, key)
  if (count % 3 === 1) await removeProjectWithApps(cx, projectId)
  if (count % 3 === 2) await removeUser(cx, robotId)
}

/** What lives here seals nothing; the server's own keys stay its own. */
function noSecrets(): Secrets {
  const refuse = () => {
    throw new Error("the population has no secrets")
  }
  return { seal: refuse, open: refuse, hash: refuse, matches: refuse, signer: refuse }
}
