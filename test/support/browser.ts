import { type Browser, chromium } from "playwright-core"
import { needs } from "./prerequisite.ts"

/** Headless Chromium with nothing of its own going out to the network. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = needs("chromium")
  if (!executablePath) throw new Error("no chromium on this machine")
  return chromium.launch({
    executablePath,
    args: [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
      ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
    ],
  })
}
