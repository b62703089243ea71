import { existsSync, rmSync } from "node:fs"
import { Fault } from "../../kernel/fault.ts"
import { startError } from "../start-error.ts"
import type { Folder } from "./folder.ts"
import { type Lock, lockFile } from "./lock.ts"

const busyId = "start.doctor_busy"

/** Makes this process the only one that checks the directory, or throws. */
export function takeDoctorLock(folder: Folder): Lock {
  const busy = "another latchkey doctor --deep is running on this directory; wait until it ends"
  const lock = lockFile(folder.doctorLock, (cause) => startError("doctor_busy", busy, cause))
  removeCopy(folder)
  return lock
}

/** Removes the copy left by a killed self-check, but not that of a running one. */
export function dropDoctorCopy(folder: Folder): void {
  if (!existsSync(folder.doctorCopy)) return
  try {
    takeDoctorLock(folder).release()
  } catch (cause) {
    if (!(cause instanceof Fault && cause.id === busyId)) throw cause
  }
}

const removeCopy = ({ doctorCopy }: Folder) => rmSync(doctorCopy, { recursive: true, force: true })
