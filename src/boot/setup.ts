import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as z from "zod/mini"
import type { Config } from "../kernel/config.ts"
import type { Random } from "../kernel/random.ts"
import { type Claim, claimFolder, isRunning } from "./claim.ts"
import { ask } from "./control.ts"
import { folderAt } from "./folder.ts"
import { refusal, systemCode } from "./refusal.ts"

/** What set-up without a person is asked for; also what comes in through the control socket. */
export const setupRequest = z.strictObject({
  publicUrl: z.string(),
  org: z.string(),
  owner: z.string(),
  ownerEmail: z.string(),
  ownerPassword: z.string(),
  /** Whether to make a service user who owns the instance, too. */
  serviceKey: z.boolean(),
})
export type SetupRequest = Readonly<z.output<typeof setupRequest>>

/** `serviceKey` is the key file of the service user, when one was asked for. */
export const setupResult = z.object({
  serviceKey: z.optional(
    z.object({
      type: z.literal("serviceaccount"),
      keyId: z.string(),
      key: z.string(),
      userId: z.string(),
    }),
  ),
})
export type SetupResult = Readonly<z.output<typeof setupResult>>

/**
 * Sets an instance up: through the server that runs on the data folder, else by `here`, which opens
 * the store itself. The key goes to a new file that only its owner may read; a file that exists is
 * refused before anything is set up.
 */
export async function setUp(options: {
  readonly config: Config
  readonly random: Random
  readonly request: Omit<SetupRequest, "serviceKey">
  readonly keyFile: string | undefined
  readonly here: (claim: Claim, request: SetupRequest) => Promise<SetupResult>
}): Promise<void> {
  const { config, keyFile } = options
  const request = { ...options.request, serviceKey: keyFile !== undefined }
  const folder = folderAt(config.data)
  const file = keyFile === undefined ? undefined : newFile(keyFile)
  try {
    const result = (await isRunning(folder))
      ? setupResult.parse(await ask(folder, "setup", request))
      : await setUpHere(options, request)
    file?.write(`${JSON.stringify(result.serviceKey)}\n`)
  } catch (error) {
    file?.remove()
    throw error
  }
}

async function setUpHere(
  { config, random, here }: Pick<Parameters<typeof setUp>[0], "config" | "random" | "here">,
  request: SetupRequest,
): Promise<SetupResult> {
  const claim = await claimFolder(config, random)
  try {
    return await here(claim, request)
  } finally {
    claim.release()
  }
}

/** Reads a password from a file; the line break that editors leave at its end does not count. */
export function passwordIn(file: string): string {
  try {
    return readFileSync(file, "utf8").replace(/\r?\n$/, "")
  } catch (error) {
    throw refusal("file_unreadable", `${file} can't be read (${systemCode(error)})`, error)
  }
}

function newFile(path: string) {
  try {
    const descriptor = openSync(path, "wx", 0o600)
    return {
      write: (text: string) => {
        writeFileSync(descriptor, text)
        closeSync(descriptor)
      },
      remove: () => {
        closeSync(descriptor)
        rmSync(path, { force: true })
      },
    }
  } catch (error) {
    const code = systemCode(error)
    const because = code === "EEXIST" ? "it exists already" : code
    throw refusal("key_file_unusable", `${path} can't be made: ${because}`, error)
  }
}
