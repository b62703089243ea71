import { existsSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../kernel/config.ts"
import type { Random } from "../kernel/crypto/random.ts"
import { ask } from "./control.ts"
import { type Claim, claimFolder, isRunning } from "./folder/claim.ts"
import { folderAt } from "./folder/folder.ts"
import { startError } from "./start-error.ts"

/** What a recovery is asked for; also what comes in through the control socket. */
export const recoveryRequest = z.lazy(() =>
  z.strictObject({
    /** Login name of who is let in; the only owner where it is left out. */
    owner: z.optional(z.string()),
    /** The address of a person who is to be made: `owner` is nobody's name yet. */
    email: z.optional(z.string()),
    /** The id of an instance, where there are several. */
    instance: z.optional(z.string()),
    /** Their second factors and passkeys are not lost. */
    keepsFactors: z.boolean(),
  }),
)
export type RecoveryRequest = Readonly<z.output<typeof recoveryRequest>>

/** Whom a link lets in. */
export const recovered = z.lazy(() =>
  z.object({
    link: z.string(),
    loginName: z.string(),
    /** Until when the link is good, ms UTC. */
    expires: z.int(),
    /** Whether they did not own the instance before. */
    isNewOwner: z.boolean(),
  }),
)
export type Recovered = Readonly<z.output<typeof recovered>>

type Options = {
  readonly config: Config
  readonly random: Random
  readonly request: RecoveryRequest
  /** Does it in a folder that no server runs on. */
  readonly here: (claim: Claim, request: RecoveryRequest) => Promise<Recovered>
}

/** Lets an owner in through the server that runs on the data folder, else by `here`. */
export async function recoverOwner({ config, random, request, here }: Options): Promise<Recovered> {
  const folder = folderAt(config.data)
  if (await isRunning(folder)) return recovered.parse(await ask(folder, "recover", request))
  if (!existsSync(folder.database)) {
    const todo = "name the data folder with --data DIR"
    throw startError("database_missing", `there is no database in ${folder.path}; ${todo}`)
  }
  const claim = await claimFolder(config, random)
  try {
    return await here(claim, request)
  } finally {
    claim.release()
  }
}

/** The link with what it does, for a person. */
export function recoveredText(
  { link, loginName, expires, isNewOwner }: Recovered,
  keepsFactors: boolean,
): string {
  const until = new Date(expires).toISOString()
  return [
    `  ${link}`,
    `  By this link ${loginName} chooses a new password, once, until ${until}.`,
    ...(keepsFactors ? [] : ["  Their second factors and passkeys were taken away."]),
    ...(isNewOwner ? ["  They own the instance from now on."] : []),
    "  All owners are told by mail.",
  ].join("\n")
}
