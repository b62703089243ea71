import { createLocalJWKSet, jwtVerify } from "jose"
import { expect } from "vitest"
import { sessionEndReactor } from "../../../src/domain/session/index.ts"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { backChannelLogout } from "../../../src/oauth/index.ts"
import { runReactors } from "../../../src/store/index.ts"
import { loadDiscovery } from "../must.ts"
import { issuer, signedOutUri } from "../provider.ts"
import type { Module } from "./core.ts"
import type { RelyingParty } from "./relying-party.ts"

/** The provider's back-channel requests while `act` runs, until nothing is pending. */
async function collectPosts({ provider }: RelyingParty, act: () => Promise<void>) {
  const posted: OutboundRequest[] = []
  const call = (instance: string) => provider.cx({ instance })
  const outbound = async (request: OutboundRequest) => {
    posted.push(request)
    return { status: 200, body: "" }
  }
  const reactors = [sessionEndReactor(call), backChannelLogout(call, outbound)]
  const running = runReactors(provider.store, provider.clock, reactors)
  await act()
  await running.drain()
  await running.drain()
  await running.stop()
  return posted
}

const backChannelLogoutUri = "https://app.example.com/backchannel"
const redirectParameters = { post_logout_redirect_uri: signedOutUri, state: "logout-state" }

export const notifiedLogoutModules: Readonly<Record<string, Module>> = {
  "oidcc-backchannel-rp-initiated-logout-discovery-endpoint-verification": async (rp) => {
    expect(await loadDiscovery(rp.provider)).toMatchObject({
      end_session_endpoint: expect.stringMatching(/^https:/),
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    })
  },
  "oidcc-frontchannel-rp-initiated-logout-discovery-endpoint-verification": async (rp) => {
    expect(await loadDiscovery(rp.provider)).toMatchObject({
      end_session_endpoint: expect.stringMatching(/^https:/),
      frontchannel_logout_supported: true,
      frontchannel_logout_session_supported: true,
    })
  },
  "oidcc-frontchannel-rp-initiated-logout": async (rp) => {
    const uri = "https://app.example.com/frontchannel?tenant=1"
    const client = await rp.addClient({ frontChannelLogout: { uri, sessionRequired: true } })
    const { browser, tokens } = await rp.signIn({}, undefined, client)
    const query = new URLSearchParams({ id_token_hint: tokens.rawIdToken, ...redirectParameters })
    const { page, response } = await browser.go(`/oidc/v1/endsession?${query}`)
    const [, source = ""] = /<iframe[^>]* src="([^"]*)"/.exec(page) ?? []
    const frame = new URL(source.replaceAll("&amp;", "&"))
    expect(frame.origin + frame.pathname).toBe("https://app.example.com/frontchannel")
    expect(Object.fromEntries(frame.searchParams)).toEqual({
      tenant: "1",
      iss: issuer,
      sid: tokens.idToken.sid,
    })
    // The browser then continues to the application with its state, with or without script.
    const after = `${signedOutUri}?state=logout-state`
    expect(response.headers.get("refresh")).toMatch(/^\d+;url=/)
    expect(response.headers.get("refresh")).toContain(`url=${after}`)
    expect(page).toContain(`href="${after}"`)
    const silent = rp.answer(await browser.go(rp.request({ prompt: "none" })))
    expect(silent.error).toBe("login_required")
  },
  "oidcc-backchannel-rp-initiated-logout": async (rp) => {
    const client = await rp.addClient({ backChannelLogoutUri })
    const { browser, tokens } = await rp.signIn({}, undefined, client)
    const posted = await collectPosts(rp, async () => {
      const query = new URLSearchParams({ id_token_hint: tokens.rawIdToken, ...redirectParameters })
      const end = await browser.go(`/oidc/v1/endsession?${query}`)
      expect(end.path).toBe(`${signedOutUri}?state=logout-state`)
    })
    expect(posted.map(({ url, method }) => [method, url])).toEqual([["POST", backChannelLogoutUri]])
    const form = new URLSearchParams(posted[0]?.body)
    expect([...form.keys()]).toEqual(["logout_token"])
    const { payload } = await jwtVerify(
      form.get("logout_token") ?? "",
      createLocalJWKSet(await (await rp.provider.send("/oauth/v2/keys")).json()),
      {
        issuer,
        audience: client.id,
        algorithms: ["RS256"],
        typ: "logout+jwt",
        currentDate: new Date(rp.provider.clock.now()),
      },
    )
    const { sub, sid } = tokens.idToken
    expect(payload).toMatchObject({ sub, sid, jti: expect.any(String) })
    expect(payload.iat).toBeTypeOf("number")
    expect(payload).not.toHaveProperty("nonce")
    expect(payload.events).toEqual({ "http://schemas.openid.net/event/backchannel-logout": {} })
    const after = rp.answer(await browser.go(rp.request({ prompt: "none" })))
    expect(after.error).toBe("login_required")
  },
}
