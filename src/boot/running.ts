import type { Config } from "../kernel/config.ts"
import type { Commands } from "./control.ts"
import type { Folder } from "./folder/folder.ts"

/**
 * The input for starting the server. The process owns `folder` and started at `started`, in ms
 * since the epoch.
 */
export type StartInput = {
  readonly config: Config
  readonly folder: Folder
  readonly master: Uint8Array
  readonly started: number
  /** The URL of a development instance; undefined otherwise. */
  readonly development?: string | undefined
  /** Whether a development instance signs with well-known keys. */
  readonly hasFixedKeys?: boolean
  /** Environment variables that description files can refer to. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A running server. */
export type RunningServer = {
  /** The URL for this machine, with the actual port. */
  readonly url: string
  /**
   * The one-time setup link for each possible URL, the best one first; empty if there is an owner.
   */
  readonly setupUrls: readonly string[]
  /**
   * Makes the server not ready, asks all clients to close their connections, and keeps serving for
   * the configured time.
   */
  readonly drain: () => Promise<void>
  /** Stops accepting connections, completes running requests and closes the store. */
  readonly stop: () => Promise<void>
  /** The commands for the command line, such as setup, recovery and diagnostics. */
  readonly control: Commands
}
