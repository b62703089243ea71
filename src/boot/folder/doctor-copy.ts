import { existsSync, rmSync } from "node:fs"
import { Fault } from "../../kernel/fault.ts"
import { startError } from "../start-error.ts"
import type { Folder } from "./folder.ts"
import { type Lock, lockFile } from "./lock.ts"

const busyId = "start.doctor_busy"

/** Makes this process the only one that makes a self-check of a folder, or refuses. */
export function takeDoctorLock(folder: Folder): Lock {
  const busy = "another latchkey doctor --deep is at work on this folder; wait until it has ended"
  const lock = lockFile(folder.doctorLock, (cause) => startError("doctor_busy", busy, cause))
  removeCopy(folder)
  return lock
}

/** Removes the copy that a self-check has left which was killed; not that of one at work. */
export function dropDoctorCopy(folder: Folder): void {
  if (!existsSync(folder.doctorCopy)) return
  try {
    takeDoctorLock(folder).release()
  } catch (cause) {
    if (!(cause instanceof Fault && cause.id === busyId)) throw cause
  }
}

const removeCopy = ({ doctorCopy }: Folder) => rmSync(doctorCopy, { recursive: true, force: true })
