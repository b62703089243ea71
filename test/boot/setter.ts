// A process that sets a folder up with a key file, and kills itself at a moment that it is told.
// When it isn't, it prints the key that is registered.
import { setUp } from "../../src/boot/setup.ts"
import { serviceUserKey } from "../../src/domain/service-account/find.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { idsOf } from "../../src/kernel/id.ts"
import { openServices } from "../../src/server/services.ts"
import { setUpByRequest } from "../../src/server/setup/setup.ts"

const [data = "", keyFile = "", moment = ""] = process.argv.slice(2)
const dieAt = (now: string) => {
  if (now === moment) process.kill(process.pid, "SIGKILL")
}
let registered = ""

try {
  await setUp({
    config: configOf({ flags: { "--data": data }, env: {}, file: {} }),
    random: systemRandom,
    ids: idsOf(systemClock),
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
      const config = configOf({ flags, env: {}, file: {} })
      const services = openServices({ config, folder, master, started: 0 })
      dieAt("before the step")
      await setUpByRequest(services, request)
      dieAt("after the step")
      const { userId = "", keyId = "" } = request.serviceKey ?? {}
      const cx = services.call(firstInstance, "test")
      registered = serviceUserKey(cx, userId, keyId)?.publicKey.trim() ?? ""
      await services.store.close()
      // From here on there is nothing but the name that the file does not have yet.
      dieAt("before the name")
    },
  })
  console.log(registered)
} catch (error) {
  console.log(error instanceof Error ? error.message : error)
  process.exit(1)
}
