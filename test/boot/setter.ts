// A process that sets up a directory with a key file and kills itself at the given moment.
// Otherwise it prints the registered key.
import { runSetup } from "../../src/boot/setup.ts"
import { findServiceKey } from "../../src/domain/service-account/find.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createIds } from "../../src/kernel/id.ts"
import { openServices } from "../../src/server/services.ts"
import { setUpByRequest } from "../../src/server/setup/setup.ts"

const [data = "", keyFile = "", moment = ""] = process.argv.slice(2)
const dieAt = (now: string) => {
  if (now === moment) process.kill(process.pid, "SIGKILL")
}
let registered = ""

try {
  await runSetup({
    config: parseConfig({ flags: { "--data": data }, env: {}, file: {} }),
    random: systemRandom,
    ids: createIds(systemClock),
    keyFile,
    request: {
      publicUrl: "https://id.example.com",
      org: "Acme",
      owner: "ada",
      ownerEmail: "ada@example.com",
      ownerPassword: "Correct-horse-7",
    },
    here: async ({ folder, master }, request) => {
      const flags = { "--data": data, "--log-level": "fatal" }
      const config = parseConfig({ flags, env: {}, file: {} })
      const services = openServices({ config, folder, master, started: 0 })
      dieAt("before the step")
      await setUpByRequest(services, request)
      dieAt("after the step")
      const { userId = "", keyId = "" } = request.serviceKey ?? {}
      const cx = services.call(firstInstance, "test")
      registered = findServiceKey(cx, userId, keyId)?.publicKey.trim() ?? ""
      await services.store.close()
      // From here on only the final name of the file is missing.
      dieAt("before the name")
    },
  })
  console.log(registered)
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
  process.exit(1)
}
