import * as z from "zod/mini"
import type { CommandTable, Flags, Outcome } from "../command-line.ts"
import { ask } from "../control.ts"
import { folderFlags, settingsIn } from "../flags.ts"
import { folderAt } from "../folder/folder.ts"
import { readConfig } from "../settings.ts"

type Lent = { readonly env: Readonly<Record<string, string | undefined>> }

const said = z.lazy(() => z.object({ notReady: z.nullable(z.string()) }))

/** The command that a container or a watchdog of the same machine asks, without a port. */
export const healthCommands = ({ env }: Lent): CommandTable => ({
  health: {
    help: "Say whether the server on a folder may be sent requests",
    flags: folderFlags,
    exits: { 3: "it runs, and is not ready" },
    run: (flags) => health(flags, env),
  },
})

async function health(flags: Flags, env: Lent["env"]): Promise<Outcome> {
  const { data } = readConfig({ flags: settingsIn(flags), env })
  const { notReady } = said.parse(await ask(folderAt(data), "condition"))
  return {
    code: notReady === null ? 0 : 3,
    text: notReady === null ? "  ready" : `  not ready: ${notReady}`,
    data: { ready: notReady === null, notReady },
  }
}
