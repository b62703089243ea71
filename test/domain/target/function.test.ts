// Targets for tokens, userinfo, and SAML responses, combined with scripts.
import { decodeJwt } from "jose"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { complementClaims, complementSaml } from "../../../src/domain/action/index.ts"
import { instance } from "../../../src/domain/instance/index.ts"
import { addTarget } from "../../../src/domain/target/commands.ts"
import type { FunctionName } from "../../../src/domain/target/condition.ts"
import { setExecution } from "../../../src/domain/target/execution.ts"
import { listMetadata } from "../../../src/domain/user/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "../../oauth/provider.ts"
import { json, localOutside, openReceiver, type Receiver, status } from "./receiver.ts"

let provider: Provider
let receiver: Receiver
let pat: string
beforeAll(async () => {
  provider = await openProvider()
  receiver = await openReceiver()
  pat = await provider.addPerson("pat")
})
afterAll(async () => {
  await provider.close()
  await receiver.close()
})

const outside = localOutside()
const cx = () => ({ ...provider.cx(), outside })
const boundFunctions: FunctionName[] = []
afterEach(async () => {
  for (const name of boundFunctions.splice(0)) await setExecution(cx(), `function/${name}`, [])
  receiver.received.length = 0
})

async function setFunctionTarget(name: FunctionName, path: string, interruptOnError = true) {
  const { receipt } = await addTarget(cx(), {
    ...({ name: path, targetType: "call", payloadType: "json" } as const),
    endpoint: `${receiver.url}${path}`,
    timeoutMs: 2000,
    interruptOnError,
  })
  await setExecution(cx(), `function/${name}`, [{ type: "target", target: receipt.id }])
  boundFunctions.push(name)
}

const runComplement = (triggerType: 4 | 5, userId = pat, clientId = "client") =>
  complementClaims(cx(), {
    triggerType,
    userId,
    clientId,
    scopes: ["openid"],
    claims: { sub: userId, name: "Pat" },
  })

test("claims are added to userinfo, logs included, and metadata is stored", async () => {
  receiver.answer(
    "/userinfo",
    json({
      append_claims: [
        { key: "team", value: ["red"] },
        { key: "sub", value: "somebody else" },
        { key: "name", value: "Else" },
      ],
      append_log_claims: ["looked up"],
      set_user_metadata: [{ key: "seen", value: Buffer.from("yes").toString("base64") }],
    }),
  )
  await setFunctionTarget("preuserinfo", "/userinfo")
  const claims = await runComplement(4)
  const log = "urn:core:iam:action:preuserinfo:log"
  expect(claims).toMatchObject({ sub: pat, name: "Pat", team: ["red"] })
  expect(claims[log]).toContain("looked up")
  expect(Buffer.from(listMetadata(cx(), pat).get("seen") ?? "").toString()).toBe("yes")
  expect(receiver.at("/userinfo")).toMatchObject([
    {
      function: "function/preuserinfo",
      userinfo: { sub: pat },
      user: { id: pat, human: { firstName: expect.any(String) } },
      org: { id: provider.setup.orgId },
      user_metadata: [],
      user_grants: [],
      application: { client_id: "client" },
    },
  ])
  const again = await runComplement(4)
  expect(receiver.at("/userinfo")[1].user_metadata).toMatchObject([{ key: "seen" }])
  expect(again).toMatchObject({ team: ["red"] })
})

test("JWT access tokens and userinfo have separate targets, as clients see them", async () => {
  receiver.answer("/token", json({ append_claims: [{ key: "shift", value: "night" }] }))
  receiver.answer("/info", json({ append_claims: [{ key: "team", value: "blue" }] }))
  await setFunctionTarget("preaccesstoken", "/token")
  await setFunctionTarget("preuserinfo", "/info")
  const client = await provider.addClient({ tokenType: "jwt" })
  const there: Provider = {
    ...provider,
    send: (path, init, more) => provider.send(path, init, { outside, ...more }),
  }
  const visited = await browserOf(there).signIn(authorizePath(client.id), "pat")
  const { code = "" } = responseOf(visited)
  const { answer } = await sendTokenRequest(
    there,
    codeFields(code),
    `${client.id}:${client.secret}`,
  )
  const access = String(answer.access_token)
  expect(decodeJwt(access)).toMatchObject({ shift: "night" })
  const headers = { authorization: `Bearer ${access}` }
  const userinfo = await there.send("/oidc/v1/userinfo", { headers })
  expect(await userinfo.json()).toMatchObject({ sub: pat, team: "blue" })
})

test.each([
  ["has failed", status(500)],
  ["answers what is no JSON", (response: { end: (text: string) => void }) => response.end("<p>")],
  ["answers another form", json({ append_claims: "all" })],
])(
  "the request fails if one %s that can interrupt, and continues otherwise",
  async (_, options) => {
    receiver.answer("/fails", options)
    await setFunctionTarget("preuserinfo", "/fails")
    await expect(runComplement(4)).rejects.toMatchObject({ id: "action.refused" })
    await setFunctionTarget("preuserinfo", "/fails", false)
    expect(await runComplement(4)).toEqual({ sub: pat, name: "Pat" })
  },
)

test("a forwarded error is shown to the user", async () => {
  const forwardedErrorMessage = "Not from there."
  receiver.answer("/says", json({ forwardedStatusCode: 403, forwardedErrorMessage }))
  await setFunctionTarget("preuserinfo", "/says")
  await expect(runComplement(4)).rejects.toThrow(forwardedErrorMessage)
})

test("the console and target administrators continue despite failures", async () => {
  receiver.answer("/ends", status(500))
  await setFunctionTarget("preuserinfo", "/ends")
  const { ownerId } = provider.setup
  expect(await runComplement(4, ownerId)).toMatchObject({ sub: ownerId })
  const consoleId = cx().store.state(cx(), instance, cx().instance).consoleClientId
  expect(await runComplement(4, pat, consoleId)).toMatchObject({ sub: pat })
})

test("attributes are added to a SAML response", async () => {
  const attribute = { name: "team", name_format: "urn:x", value: ["red", "blue"] }
  receiver.answer("/saml", json({ append_attribute: [attribute, { name: "Email", value: ["x"] }] }))
  await setFunctionTarget("presamlresponse", "/saml")
  const added = await complementSaml(cx(), { userId: pat, taken: ["Email"] })
  expect(added).toEqual([{ name: "team", format: "urn:x", values: ["red", "blue"] }])
})
