import { decodeJwt } from "jose"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { setSecurity } from "../../src/domain/instance/setting-change.ts"
import * as member from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { removeMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { deactivateUser, lockUser } from "../../src/domain/user/index.ts"
import { authenticateApiCaller } from "../../src/oauth/index.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import { type Fields, openExchange, typeOf, userIdType } from "./exchange.ts"
import { type Provider, sendTokenRequest } from "./provider.ts"

const accessToken = typeOf("access_token")
const audienceOf = (projectId: string) => `urn:core:iam:org:project:id:${projectId}:aud`

let exchange: Awaited<ReturnType<typeof openExchange>>
beforeAll(async () => {
  exchange = await openExchange()
})
afterAll(() => exchange.provider.close())

describe("impersonation", () => {
  let support: Awaited<ReturnType<typeof addServiceAccount>>
  let actor = ""
  let ann = ""
  let serial = 0

  const allow = (enableImpersonation: boolean) =>
    setSecurity(exchange.provider.cx(), "i1", {
      enableIframeEmbedding: false,
      allowedOrigins: [],
      enableImpersonation,
    })
  const give = (id: string, target: member.Target, role: string) => {
    const cx = exchange.provider.cx()
    const roles = [role]
    return cx.store.transact(cx, (tx) => member.addMember(tx, { target, userId: id, roles }))
  }
  const onInstance = { level: "instance" } as const
  const tokenOf = async (robot: typeof support, more = "") => {
    const scope = `openid profile email ${audienceOf(exchange.provider.projectId)}${more}`
    const fields = { grant_type: "client_credentials", scope }
    const { answer } = await sendTokenRequest(
      exchange.provider,
      fields,
      encodeBasic(robot.id, robot.secret),
    )
    return String(answer.access_token)
  }
  const addSupport = async (target: member.Target, role: string) => {
    const robot = await addServiceAccount(exchange.provider)
    await give(robot.userId, target, role)
    return robot
  }
  const acting = (token: string, fields: Fields = {}) => ({
    actor_token: token,
    actor_token_type: accessToken,
    subject_token_type: userIdType,
    ...fields,
  })

  beforeAll(async () => {
    support = await addSupport(onInstance, "IAM_END_USER_IMPERSONATOR")
    actor = await tokenOf(support)
  })
  beforeEach(async () => {
    await allow(true)
    ann = await exchange.provider.addPerson(`ann${serial++}`)
  })
  afterEach(() => allow(false))

  test("issues a token that contains the actor (§4.1), and is recorded", async () => {
    const answer = await exchange.exchanged(
      ann,
      acting(actor, { requested_token_type: typeOf("jwt") }),
    )
    expect(decodeJwt(String(answer.access_token))).toMatchObject({
      sub: ann,
      act: { sub: support.userId },
      client_id: exchange.gateway.id,
      aud: [exchange.provider.projectId],
    })
    expect(await exchange.introspect(answer.access_token)).toMatchObject({
      active: true,
      sub: ann,
      act: { sub: support.userId },
    })
    expect(await exchange.statusOf(answer.access_token)).toBe(200)
    const { log } = exchange.provider.store
    const events = await log.read(log.durable() - 3, 3)
    expect(events.find(({ type }) => type === "user.impersonated")).toMatchObject({
      stream: "impersonation",
      owner: exchange.provider.setup.orgId,
      data: { userId: ann, actorId: support.userId, clientId: exchange.gateway.id },
    })
  })

  test("issues at most what the actor was granted", async () => {
    await exchange.refused(ann, acting(actor, { scope: "openid phone" }), "invalid_scope")
    await exchange.refused(ann, acting(actor, { audience: exchange.web.id }), "invalid_target")
    exchange.provider.clock.advance(3_600_000)
    expect((await exchange.exchanged(ann, acting(actor))).expires_in).toBeLessThanOrEqual(39_600)
    actor = await tokenOf(support)
  })

  test("ends no later than the token of the actor", async () => {
    const early = await tokenOf(support)
    exchange.provider.clock.advance(3_600_000)
    const { access } = await exchange.signIn(`ann${serial - 1}`)
    const fields = { ...acting(early), subject_token_type: accessToken }
    expect((await exchange.exchanged(access, fields)).expires_in).toBeLessThanOrEqual(39_600)
    actor = await tokenOf(support)
  })

  test("includes the actor in an id_token as well", async () => {
    const fields = acting(actor, { requested_token_type: typeOf("id_token") })
    const { access_token: token } = await exchange.exchanged(ann, fields)
    expect(decodeJwt(String(token))).toMatchObject({ sub: ann, act: { sub: support.userId } })
  })

  test("never gives access to the management API, even for an administrator", async () => {
    const boss = await exchange.provider.addPerson(`boss${serial}`)
    await give(boss, { level: "org", id: exchange.provider.setup.orgId }, "ORG_OWNER")
    const robot = await addSupport(onInstance, "IAM_ADMIN_IMPERSONATOR")
    const { access } = await exchange.signIn(
      `boss${serial}`,
      exchange.web,
      `openid ${audienceOf("core")}`,
    )
    const fields = { ...acting(await tokenOf(robot)), subject_token_type: accessToken }
    const answer = await exchange.exchanged(access, fields)
    const headers = new Headers({ authorization: `Bearer ${answer.access_token}` })
    const call = authenticateApiCaller(exchange.provider.cx(), {
      headers,
      method: "GET",
      path: "/",
    })
    await expect(call).rejects.toMatchObject({ id: "token.impersonated" })
    const id = await exchange.exchanged(String(answer.access_token))
    const again = new Headers({ authorization: `Bearer ${id.access_token}` })
    const second = authenticateApiCaller(exchange.provider.cx(), {
      headers: again,
      method: "GET",
      path: "/",
    })
    await expect(second).rejects.toMatchObject({ id: "token.impersonated" })
  })

  test("keeps the whole chain of actors (§4.1)", async () => {
    const { access } = await exchange.signIn(`ann${serial - 1}`)
    const fields = acting(actor, { subject_token_type: accessToken })
    const one = await exchange.exchanged(access, fields)
    expect(await exchange.introspect(one.access_token)).toMatchObject({
      act: { sub: support.userId },
    })
    const other = await addSupport(onInstance, "IAM_END_USER_IMPERSONATOR")
    const more = acting(await tokenOf(other), { subject_token_type: accessToken })
    const two = await exchange.exchanged(String(one.access_token), more)
    const act = { sub: other.userId, act: { sub: support.userId } }
    expect((await exchange.introspect(two.access_token)).act).toEqual(act)
    // Another exchange does not remove it.
    const three = await exchange.exchanged(String(two.access_token))
    expect((await exchange.introspect(three.access_token)).act).toEqual(act)
    let longest = String(three.access_token)
    for (let depth = 3; depth < 10; depth++) {
      longest = String((await exchange.exchanged(longest, more)).access_token)
    }
    await exchange.refused(longest, more)
  })

  test("is rejected unless the instance allows it; the default is off", async () => {
    await allow(false)
    await exchange.refused(ann, acting(actor))
    const { access } = await exchange.signIn(`ann${serial - 1}`)
    await exchange.refused(access, acting(actor, { subject_token_type: accessToken }))
  })

  type Case = readonly [string, () => Promise<readonly [string, Fields]>]
  const wrong: readonly Case[] = [
    ["without an actor", async () => [ann, { subject_token_type: userIdType }]],
    ["of nobody", async () => ["nobody", acting(actor)]],
    ["of oneself", async () => [support.userId, acting(actor)]],
    [
      "of somebody who is locked",
      async () => {
        await lockUser(exchange.provider.cx(), ann)
        return [ann, acting(actor)]
      },
    ],
    [
      "of an administrator, for who may act for people",
      async () => {
        return [exchange.provider.setup.ownerId, acting(actor)]
      },
    ],
    [
      "by somebody without the permission",
      async () => [ann, acting(await tokenOf(await addServiceAccount(exchange.provider)))],
    ],
    [
      "of an owner of the instance, by who holds it on an organization",
      async () => {
        const target = { level: "org", id: exchange.provider.setup.orgId } as const
        const robot = await addSupport(target, "ORG_ADMIN_IMPERSONATOR")
        return [exchange.provider.setup.ownerId, acting(await tokenOf(robot))]
      },
    ],
    [
      "of an administrator of another organisation, by who holds it on their own",
      async () => {
        const cx = exchange.provider.cx()
        const orgId = cx.ids.next()
        await createOrganization(cx, orgId, { name: `Abroad ${orgId}` })
        await give(ann, { level: "org", id: orgId }, "ORG_OWNER_VIEWER")
        const target = { level: "org", id: exchange.provider.setup.orgId } as const
        const robot = await addSupport(target, "ORG_ADMIN_IMPERSONATOR")
        return [ann, acting(await tokenOf(robot))]
      },
    ],
    [
      "of a person of another organisation, by who holds it on one",
      async () => {
        const cx = exchange.provider.cx()
        const orgId = cx.ids.next()
        await createOrganization(cx, orgId, { name: `Elsewhere ${orgId}` })
        const robot = await addSupport({ level: "org", id: orgId }, "ORG_END_USER_IMPERSONATOR")
        return [ann, acting(await tokenOf(robot))]
      },
    ],
    [
      "by an actor who is acted for",
      async () => {
        const admin = await addSupport(onInstance, "IAM_ADMIN_IMPERSONATOR")
        const robot = await addSupport(onInstance, "IAM_ADMIN_IMPERSONATOR")
        const { access_token: token } = await exchange.exchanged(
          robot.userId,
          acting(await tokenOf(admin)),
        )
        return [ann, acting(String(token))]
      },
    ],
    ["by a token that is none", async () => [ann, acting("nonsense")]],
    ["by a user_id", async () => [ann, acting(support.userId, { actor_token_type: userIdType })]],
    [
      "by a token for somebody else",
      async () => {
        const fields = { grant_type: "client_credentials", scope: "openid" }
        const { answer } = await sendTokenRequest(
          exchange.provider,
          fields,
          encodeBasic(support.id, support.secret),
        )
        return [ann, acting(String(answer.access_token))]
      },
    ],
  ]
  test.each(wrong)("is rejected %s", async (_, make) => {
    const before = exchange.provider.store.log.durable()
    const [token, fields] = await make()
    const position = Math.max(before, exchange.provider.store.log.durable())
    await exchange.refused(token, fields)
    expect(exchange.provider.store.log.durable()).toBe(position)
  })

  test("is allowed for users of an organization in which the actor has the role", async () => {
    const target = { level: "org", id: exchange.provider.setup.orgId } as const
    const robot = await addSupport(target, "ORG_END_USER_IMPERSONATOR")
    await exchange.exchanged(ann, acting(await tokenOf(robot)))
  })

  type End = (cx: ReturnType<Provider["cx"]>, robot: typeof support) => Promise<unknown>
  const ends: Readonly<Record<string, End>> = {
    "the instance stops allowing it": () => allow(false),
    "who acts loses the permission": (cx, { userId: id }) =>
      cx.store.transact(cx, (tx) => member.removeMember(tx, { target: onInstance, userId: id })),
    "who acts is deactivated": (cx, { userId: id }) => deactivateUser(cx, id),
    "the secret of who acts is removed": (cx, { userId: id }) => removeMachineSecret(cx, id),
    "the user is locked": (cx) => lockUser(cx, ann),
    "the user becomes an administrator": () =>
      give(ann, { level: "org", id: exchange.provider.setup.orgId }, "ORG_OWNER"),
  }
  test.each(Object.entries(ends))("ends once %s", async (_, end) => {
    const robot = await addSupport(onInstance, "IAM_END_USER_IMPERSONATOR")
    const { access_token: token } = await exchange.exchanged(ann, acting(await tokenOf(robot)))
    expect(await exchange.statusOf(token)).toBe(200)
    await end(exchange.provider.cx(), robot)
    expect(await exchange.statusOf(token)).toBe(401)
  })
})
