// Scripts in the binary, where threads and the engine are embedded files.
import { decodeJwt } from "jose"
import { afterAll, beforeAll, expect, test } from "vitest"
import { serviceToken } from "../support/latchkey.ts"
import { addKey, addMachine, bearer, openService, reply, type Service } from "./service.ts"

let service: Service
beforeAll(async () => {
  service = await openService()
})
afterAll(() => service?.close())

const send = async (method: string, path: string, body?: object) => {
  const headers = { ...bearer(service.token), "content-type": "application/json" }
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
  const answer = await reply(await fetch(`${service.url}${path}`, init))
  expect([path, answer.status]).toEqual([path, 200])
  return answer.body
}

test("a script that is bound at the bare paths adds a claim to an access token", async () => {
  const { result } = await service.get("ListOrganizations")
  const userId = await addMachine(service, result[0].id, "clerk")
  await service.get("UpdateUser", {
    userId,
    machine: { accessTokenType: "ACCESS_TOKEN_TYPE_JWT" },
  })
  const key = await addKey(service, userId)
  const script = `function colour(ctx, api) {
    api.v1.claims.setClaim("colour", ctx.v1.getUser().username + " likes red")
    require("core/log").log("seen", ctx.v1.claims)
  }`
  const { id } = await send("POST", "/actions", { name: "colour", script, timeout: "5s" })
  const flow = "/flows/2/trigger/TRIGGER_TYPE_PRE_ACCESS_TOKEN_CREATION"
  await send("POST", flow, { actionIds: [id] })
  const claims = decodeJwt(await serviceToken(service.url, key))
  expect(claims.colour).toBe("clerk likes red")
  await send("POST", `/actions/${id}/_deactivate`, {})
  expect(decodeJwt(await serviceToken(service.url, key)).colour).toBeUndefined()
  await send("DELETE", `/actions/${id}`)
  expect((await send("GET", "/flows/2")).flow.state).toBe("FLOW_STATE_INACTIVE")
})
