import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { proxyConfigurations } from "../../ui/login/proxy-configuration.ts"

const page = readFileSync(join(import.meta.dirname, "../../docs/install/proxies.md"), "utf8")
const lines = proxyConfigurations("id.example.com", "127.0.0.1:8080")

test.each(lines)("the documentation has the lines for $name of the page", ({ name, text }) => {
  expect(page).toContain(`## ${name}\n`)
  expect(page).toContain(`\`\`\`${name.toLowerCase()}\n${text}\n\`\`\``)
})
