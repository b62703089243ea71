import * as z from "zod/mini"
import type { CommandResult, CommandTable, Flags } from "../command-line.ts"
import { sendCommand } from "../control.ts"
import { folderFlags, settingFlagsOf } from "../flags.ts"
import { folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"

type HealthContext = { readonly env: Readonly<Record<string, string | undefined>> }

const healthAnswer = z.lazy(() => z.object({ notReady: z.nullable(z.string()) }))

/**
 * The command with which a container or watchdog on the same machine checks readiness without a
 * port.
 */
export const healthCommands = ({ env }: HealthContext): CommandTable => ({
  health: {
    help: "Check whether the server of a data directory is ready",
    flags: folderFlags,
    exitCodes: { 3: "the server runs but is not ready" },
    run: (flags) => health(flags, env),
  },
})

async function health(flags: Flags, env: HealthContext["env"]): Promise<CommandResult> {
  const { data } = readConfig({ flags: settingFlagsOf(flags), env })
  const { notReady } = healthAnswer.parse(await sendCommand(folderAt(data), "condition"))
  return {
    exitCode: notReady === null ? 0 : 3,
    text: notReady === null ? "  ready" : `  not ready: ${notReady}`,
    data: { ready: notReady === null, notReady },
  }
}
