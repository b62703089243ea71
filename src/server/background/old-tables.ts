import { dropExpiredSnapshot } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"
import { startRepeating } from "./repeat.ts"

const intervalMs = 3_600_000

/** Deletes the copy that an upgrade left, some days later. */
export const startDroppingUpgradeCopy = (
  { clock, log }: Pick<ServerServices, "clock" | "log">,
  database: string,
) =>
  startRepeating(clock, intervalMs, async () => {
    if (dropExpiredSnapshot(database, clock.now()))
      log.info("deleted the copy from before the upgrade")
  })
