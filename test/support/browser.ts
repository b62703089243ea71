import { type Browser, type CDPSession, chromium, type Page } from "playwright-core"
import { needs } from "./prerequisite.ts"
import { lookQuickly } from "./quick-look.ts"

/** Headless Chromium with nothing of its own going out to the network. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = needs("chromium")
  if (!executablePath) throw new Error("no chromium on this machine")
  const browser = await chromium.launch({
    executablePath,
    args: [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
    ],
  })
  browser.on("context", (context) =>
    context.on("page", (page) => {
      lookQuickly(page)
    }),
  )
  return browser
}

/** Gives the device of a page an authenticator, which sees who uses it; `keys` makes others. */
export async function withPasskeys(page: Page): Promise<{
  readonly keys: CDPSession
  readonly authenticatorId: string
}> {
  const keys = await page.context().newCDPSession(page)
  await keys.send("WebAuthn.enable")
  return { keys, authenticatorId: await newAuthenticator(keys) }
}

/** A key of the device itself, that sees who uses it. */
export async function newAuthenticator(keys: CDPSession): Promise<string> {
  const options = {
    ...({ protocol: "ctap2", transport: "internal" } as const),
    ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
    automaticPresenceSimulation: true,
  }
  return (await keys.send("WebAuthn.addVirtualAuthenticator", { options })).authenticatorId
}
