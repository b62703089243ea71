// Moves organizations from one instance to another, through the console.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { humanInput, openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { openSignedIn } from "../support/console-pages.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"

describe.runIf(needs("chromium"))("an owner of two instances", () => {
  const folder = temporaryFolder()
  const file = join(folder.path, "organizations.jsonl")
  const services: Service[] = []
  const at = (location: 0 | 1): Service => {
    const service = services[location]
    if (!service) throw new Error("it was not started")
    return service
  }
  /** Chooses the file once the previous run has ended: until then the button is disabled. */
  const choose = async (page: Page, label: string) => {
    await until(() => page.getByRole("button", { name: label }).isEnabled())
    await page.getByLabel(label).setInputFiles(file)
  }
  let browser: Browser
  let from: Page
  let to: Page
  let globex: string

  beforeAll(async () => {
    services.push(...(await Promise.all([openService(), openService()])))
    const one = at(0)
    const password = { password: "Correct-horse-7-battery", changeRequired: false }
    globex = await findOrganization(one, "Globex")
    await one.get("CreateUser", {
      organizationId: globex,
      username: "grace",
      human: { ...humanInput("grace"), password },
    })
    browser = await openBrowser()
    const open = async ({ url }: Service) => {
      const context = await browser.newContext({ locale: "en", acceptDownloads: true })
      return openSignedIn(context, `${url}/ui/console/transfer`)
    }
    from = await open(at(0))
    to = await open(at(1))
  })
  afterAll(async () => {
    await browser?.close()
    for (const service of services) await service.close()
    folder.remove()
  })

  test("exports an organization to a file, without secrets", async () => {
    await from.locator("main").getByRole("combobox").selectOption("Globex")
    const downloading = from.waitForEvent("download")
    await from.getByRole("button", { name: "Export", exact: true }).click()
    await (await downloading).saveAs(file)
    await from.getByText("The file contains 1 organization.").waitFor()
    const lines = readFileSync(file, "utf8").trim().split("\n")
    const [org] = lines.map((line) => JSON.parse(line))
    expect(lines).toHaveLength(1)
    expect(org).toMatchObject({ orgId: globex, org: { name: "Globex" } })
    expect(org.humanUsers).toMatchObject([{ user: { userName: "grace" } }])
    expect(JSON.stringify(org)).not.toContain("argon2")
  })

  test("includes password hashes on request, with a warning", async () => {
    await from.getByLabel("Password hashes").check()
    await from.getByText("Protect it like a key").waitFor()
    const downloading = from.waitForEvent("download")
    await from.getByRole("button", { name: "Export", exact: true }).click()
    await (await downloading).saveAs(file)
    expect(readFileSync(file, "utf8")).toContain("argon2")
  })

  test("runs a dry run at the other instance, which changes nothing", async () => {
    await choose(to, "Dry run")
    await to.getByText("Nothing was changed").waitFor()
    expect(await listNames(at(1))).not.toContain("Globex")
  })

  test("imports it there, and sees what exists when repeated", async () => {
    await choose(to, "Import file")
    await to.getByText(/^Imported: [1-9]/).waitFor()
    expect(await listNames(at(1))).toContain("Globex")
    await choose(to, "Import file")
    await to.getByText("Imported: 0.").waitFor()
    await to.locator("tbody tr").filter({ hasText: "human_users" }).waitFor()
  })

  test("sees the imported parts of a file that failed halfway", async () => {
    const projects = Array.from({ length: 1200 }, (_, at) => ({
      projectId: `large-${at}`,
      project: { name: `${at} ${"長".repeat(190)}` },
    }))
    writeFileSync(file, JSON.stringify({ orgId: "large", org: { name: "Large" }, projects }))
    await choose(to, "Dry run")
    await to.getByText("This file is too large for a dry run here.").waitFor()
    let asked = 0
    await to.route("**/ImportData", (route) => {
      const json = { code: "unavailable", message: "the disk is full" }
      return ++asked === 2 ? route.fulfill({ status: 503, json }) : route.continue()
    })
    await choose(to, "Import file")
    await to.getByText(/^Imported before the error: [1-9]/).waitFor()
    await to.getByText("the disk is full").waitFor()
    expect(await listNames(at(1))).toContain("Large")
    await to.unroute("**/ImportData")
    await choose(to, "Import file")
    await to.getByText(/^Imported: [1-9]/).waitFor()
  })

  test("sees the number of an invalid line", async () => {
    writeFileSync(file, '{"orgId": "lost"\nuser name;email\n')
    await choose(to, "Import file")
    await to.getByText("Not imported: 2").first().waitFor()
    await to
      .locator("tbody tr")
      .filter({ hasText: "This line is not a JSON object with an organization" })
      .first()
      .waitFor()
  })
})

async function findOrganization({ get }: Service, name: string): Promise<string> {
  return (await get("AddOrganization", { name })).organizationId
}

async function listNames({ get }: Service): Promise<readonly string[]> {
  const { result } = await get("ListOrganizations")
  return result.map(({ name }: { readonly name: string }) => name)
}
