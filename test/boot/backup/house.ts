import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type BackupRequest, backup } from "../../../src/boot/backup/backup.ts"
import { restore } from "../../../src/boot/backup/restore.ts"
import { serveControl } from "../../../src/boot/control.ts"
import { claimFolder } from "../../../src/boot/folder/claim.ts"
import { firstInstance } from "../../../src/domain/setup/index.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { type Config, parseConfig } from "../../../src/kernel/config.ts"
import { systemRandom } from "../../../src/kernel/crypto/random.ts"
import { openServices } from "../../../src/server/services.ts"
import { setUpByRequest } from "../../../src/server/setup/setup.ts"

/** Directories to back up and restore, below one that is removed with the test. */
export function createBackupFixture(name: string) {
  const folder = mkdtempSync(join(tmpdir(), `latchkey-${name}-`))
  let count = 0
  return {
    folder,
    /** A path at which nothing exists. */
    fresh: (kind = "data") => join(folder, `${kind}-${count++}`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const configFor = (data: string, more: Readonly<Record<string, string>> = {}): Config =>
  parseConfig({ flags: { "--data": data, "--log-level": "fatal", ...more }, env: {}, file: {} })

/** Opens a data directory and listens on its control socket, as a server does. */
export async function openData(data: string) {
  const config = configFor(data)
  const claim = await claimFolder(config, systemRandom)
  const services = openServices({ ...claim, config, started: 0 })
  const status = async () => ({ pid: process.pid })
  const control = serveControl(claim.folder, { status }, () => undefined)
  return {
    services,
    cx: (instance = firstInstance) => services.call(instance, "test"),
    /** The position of the newest event. */
    head: () => services.store.log.durable(),
    close: async () => {
      await control.close()
      await services.store.close()
      claim.release()
    },
  }
}

export type OpenData = Awaited<ReturnType<typeof openData>>

/** Sets up a data directory; the owner is ada. */
export async function setUpData(data: string): Promise<OpenData> {
  const open = await openData(data)
  await setUpByRequest(open.services, {
    publicUrl: "https://id.example.com",
    org: "Acme",
    owner: "ada",
    ownerEmail: "ada@example.com",
    ownerPassword: "Correct-horse-7",
  })
  return open
}

export const createBackup = (data: string, to: string, more: Partial<BackupRequest> = {}) =>
  backup({
    config: configFor(data),
    clock: systemClock,
    to,
    withMasterKey: true,
    encryption: undefined,
    workFolder: undefined,
    warn: () => {},
    ...more,
  })

export const restoreBackup = (from: string, data: string, opening = {}) =>
  restore({ config: configFor(data), from, opening })
