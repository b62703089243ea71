import { constants } from "node:fs"
import { mkdir, open } from "node:fs/promises"
import { join } from "node:path"
import { systemCode, systemReasons } from "../../boot/start-error.ts"
import { Fault } from "../../kernel/fault.ts"
import type { InstanceFiles } from "../../kernel/port/outbound.ts"

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/**
 * The files that API callers can name: below a configured directory, with one subdirectory per
 * instance. Links are not followed, files are never overwritten, and only regular files are read.
 */
export const createFiles = (folder: string): InstanceFiles => ({
  read: (instance, name, bytesMax) =>
    withFileErrors(name, async () => {
      const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
      const file = await open(await resolvePath(folder, instance, name), flags)
      try {
        const { size } = await file.stat()
        const isFile = (await file.stat()).isFile()
        if (!isFile) throw fileError(name, "it is not a regular file")
        if (size > bytesMax) throw fileError(name, `it has more than ${bytesMax} bytes`)
        return await file.readFile("utf8")
      } finally {
        await file.close()
      }
    }),
  write: (instance, name, text) =>
    withFileErrors(name, async () => {
      const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
      const file = await open(await resolvePath(folder, instance, name), flags, 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
    }),
})

async function resolvePath(folder: string, instance: string, name: string): Promise<string> {
  // System callers can choose the IDs of instances.
  const own = join(folder, encodeURIComponent(instance).replaceAll(".", "%2E"))
  await mkdir(own, { recursive: true, mode: 0o700 })
  return join(own, name)
}

/** Converts system errors to messages that don't disclose the directory. */
async function withFileErrors<T>(name: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (cause) {
    const code = systemCode(cause)
    const reason = { ...systemReasons, ...fileErrorTexts }[code]
    if (reason === undefined) throw cause
    throw fileError(name, reason, cause)
  }
}

const fileErrorTexts: Readonly<Record<string, string>> = {
  EEXIST: "it already exists; use another name",
  ENOENT: "it does not exist",
  ELOOP: "it is a symbolic link",
  EMLINK: "it is a symbolic link",
  ENXIO: "it is not a regular file",
}

const fileError = (name: string, reason: string, cause?: unknown) =>
  new Fault("failed_precondition", "transfer.file", `${name} can't be used: ${reason}`, { cause })
