import { constants } from "node:fs"
import { mkdir, open } from "node:fs/promises"
import { join } from "node:path"
import { systemCode, systemReasons } from "../../boot/start-error.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Files } from "../../kernel/port/outbound.ts"

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/**
 * The files that callers may name: below a folder of the configuration, each instance's in a folder
 * of its own. No links are followed, nothing is written over, and nothing but files is read.
 */
export const filesIn = (folder: string): Files => ({
  read: (instance, name, most) =>
    known(name, async () => {
      const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
      const file = await open(await pathOf(folder, instance, name), flags)
      try {
        const { size } = await file.stat()
        const isFile = (await file.stat()).isFile()
        if (!isFile) throw fileError(name, "it is no file")
        if (size > most) throw fileError(name, `it has more than ${most} bytes`)
        return await file.readFile("utf8")
      } finally {
        await file.close()
      }
    }),
  write: (instance, name, text) =>
    known(name, async () => {
      const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
      const file = await open(await pathOf(folder, instance, name), flags, 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
    }),
})

async function pathOf(folder: string, instance: string, name: string): Promise<string> {
  // Ids of instances are ours, but for those that a caller of the system has chosen.
  const own = join(folder, encodeURIComponent(instance).replaceAll(".", "%2E"))
  await mkdir(own, { recursive: true, mode: 0o700 })
  return join(own, name)
}

/** What the system refuses, in words that say nothing of where the folder is. */
async function known<T>(name: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (cause) {
    const code = systemCode(cause)
    const because = { ...systemReasons, ...ofFiles }[code]
    if (because === undefined) throw cause
    throw fileError(name, because, cause)
  }
}

const ofFiles: Readonly<Record<string, string>> = {
  EEXIST: "it is there already; name another one",
  ENOENT: "it is not there",
  ELOOP: "it is a link",
  EMLINK: "it is a link",
  ENXIO: "it is no file",
}

const fileError = (name: string, because: string, cause?: unknown) =>
  new Fault("failed_precondition", "transfer.file", `${name} can't be used: ${because}`, { cause })
