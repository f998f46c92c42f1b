BEGIN TRANSACTION;
CREATE TABLE admissions (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	signal_id TEXT NOT NULL, 
	candidate_digest TEXT NOT NULL, 
	edge TEXT NOT NULL, 
	admitted BOOLEAN NOT NULL, 
	reason TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_admissions PRIMARY KEY (seq), 
	CONSTRAINT uq_admissions_episode_id_id UNIQUE (episode_id, id)
);
INSERT INTO "admissions" VALUES(9,'01a220b5-2b18-706b-91cf-b88565bb6ccf','01a220b5-2b17-7191-8772-b4fd942838d9',1,'01a220b5-2b17-7191-8772-b4fe29deb08b','candidate','refine',1,'','2026-11-28T05:51:13.688222+00:00');
CREATE TABLE artifacts (
	seq INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_artifacts PRIMARY KEY (seq), 
	CONSTRAINT uq_artifacts_digest UNIQUE (digest)
);
INSERT INTO "artifacts" VALUES(6,'artifact','changes',X'006368616E676573FF');
CREATE TABLE candidates (
	seq INTEGER NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	edits TEXT NOT NULL, 
	note TEXT NOT NULL, 
	artifact TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_candidates PRIMARY KEY (seq), 
	CONSTRAINT uq_candidates_episode_id_digest UNIQUE (episode_id, digest)
);
INSERT INTO "candidates" VALUES(7,'01a220b5-2b17-7191-8772-b4fd942838d9',1,'candidate','','["compare.boundary"]','','artifact','2026-11-28T05:51:13.688212+00:00');
CREATE TABLE episode_ends (
	seq INTEGER NOT NULL, 
	episode_id TEXT NOT NULL, 
	verdict TEXT NOT NULL, 
	stop_reason TEXT NOT NULL, 
	best_candidate TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_episode_ends PRIMARY KEY (seq)
);
INSERT INTO "episode_ends" VALUES(11,'01a220b5-2b17-7191-8772-b4fd942838d9','fail','exhausted','','','2026-11-28T05:51:13.688237+00:00');
CREATE TABLE episodes (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	family TEXT NOT NULL, 
	task TEXT NOT NULL, 
	base_digest TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_episodes PRIMARY KEY (seq), 
	CONSTRAINT uq_episodes_id UNIQUE (id)
);
INSERT INTO "episodes" VALUES(2,'01a220b5-2b17-7191-8772-b4fd942838d9','01a220b5-2b17-7191-8772-b4fc1974d1b5','task','family','{}','',3,'2026-11-28T05:51:13.687936+00:00');
CREATE TABLE groundwire_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT groundwire_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "groundwire_schema" VALUES('0002');
CREATE TABLE intents (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	body TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_intents PRIMARY KEY (seq), 
	CONSTRAINT uq_intents_episode_id_id UNIQUE (episode_id, id)
);
INSERT INTO "intents" VALUES(4,'01a220b5-2b18-706b-91cf-b8847fd32e8d','01a220b5-2b17-7191-8772-b4fd942838d9',1,'model_call','request','','2026-11-28T05:51:13.688187+00:00');
CREATE TABLE model_calls (
	seq INTEGER NOT NULL, 
	intent_id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	model TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	request_digest TEXT NOT NULL, 
	completion TEXT NOT NULL, 
	error TEXT NOT NULL, 
	prompt_tokens INTEGER NOT NULL, 
	completion_tokens INTEGER NOT NULL, 
	usd DOUBLE, 
	duration_s DOUBLE NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_model_calls PRIMARY KEY (seq)
);
INSERT INTO "model_calls" VALUES(5,'01a220b5-2b18-706b-91cf-b8847fd32e8d','01a220b5-2b17-7191-8772-b4fd942838d9',1,'scripted','','request','','',0,0,0.25,0.0,'2026-11-28T05:51:13.688203+00:00');
CREATE TABLE reflections (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	signal_id TEXT NOT NULL, 
	candidate_digest TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	family TEXT NOT NULL, 
	text TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_reflections PRIMARY KEY (seq), 
	CONSTRAINT uq_reflections_id UNIQUE (id)
);
INSERT INTO "reflections" VALUES(10,'01a220b5-2b18-706b-91cf-b886eb59db7a','01a220b5-2b17-7191-8772-b4fd942838d9',1,'01a220b5-2b17-7191-8772-b4fe29deb08b','candidate','task','family','The upper bound is exclusive — NUL 0;.','','2026-11-28T05:51:13.688230+00:00');
CREATE TABLE run_ends (
	seq INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_run_ends PRIMARY KEY (seq)
);
CREATE TABLE runs (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	graph TEXT NOT NULL, 
	config TEXT NOT NULL, 
	version TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (seq), 
	CONSTRAINT uq_runs_id UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'01a220b5-2b17-7191-8772-b4fc1974d1b5','code_repair','{}','0.1.0','2026-11-28T05:51:13.687915+00:00');
CREATE TABLE signals (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	origin TEXT NOT NULL, 
	verdict TEXT NOT NULL, 
	reason TEXT, 
	issuer TEXT NOT NULL, 
	candidate_digest TEXT NOT NULL, 
	exit_code INTEGER, 
	n_passed INTEGER NOT NULL, 
	n_failed INTEGER NOT NULL, 
	partial BOOLEAN NOT NULL, 
	oracle BOOLEAN NOT NULL, 
	created_at TEXT NOT NULL, 
	body TEXT NOT NULL, signature TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_signals PRIMARY KEY (seq), 
	CONSTRAINT uq_signals_id UNIQUE (id)
);
INSERT INTO "signals" VALUES(8,'01a220b5-2b17-7191-8772-b4fe29deb08b','01a220b5-2b17-7191-8772-b4fc1974d1b5','01a220b5-2b17-7191-8772-b4fd942838d9',1,'tests','fail',NULL,'test','candidate',1,0,1,0,0,'2026-11-28T05:51:13.687999+00:00','{"candidate_digest":"candidate","command":[],"created_at":"2026-11-28T05:51:13.687999+00:00","duration_s":0.0,"episode_id":"01a220b5-2b17-7191-8772-b4fd942838d9","evidence":{"cases":[{"duration_s":0.0,"id":"tests/test_x.py::test_edge","message":"assert 1 == 2","result":"failed"}],"collected":1,"deselected":0,"detail":"","stderr":"","stderr_cut":0,"stdout":"","stdout_cut":0},"exit_code":1,"id":"01a220b5-2b17-7191-8772-b4fe29deb08b","isolation":"in_process","issuer":"test","oracle":false,"origin":"tests","partial":false,"reason":null,"run_id":"01a220b5-2b17-7191-8772-b4fc1974d1b5","sandbox":null,"seal":"c5b194fb4eb4414f687aa7e90a4b89b6635320ef096bf9ec81b484ff98661cae","trial":1,"verdict":"fail"}','AssertionError: int one too small');
CREATE TABLE trials (
	seq INTEGER NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	lessons TEXT NOT NULL, 
	escalation INTEGER NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_trials PRIMARY KEY (seq), 
	CONSTRAINT uq_trials_episode_id_trial UNIQUE (episode_id, trial)
);
INSERT INTO "trials" VALUES(3,'01a220b5-2b17-7191-8772-b4fd942838d9',1,'["lesson"]',0,'2026-11-28T05:51:13.688195+00:00');
CREATE INDEX ix_run_ends_run_id ON run_ends (run_id);
CREATE INDEX ix_episodes_run_id ON episodes (run_id);
CREATE INDEX ix_episodes_family ON episodes (family);
CREATE INDEX ix_episode_ends_episode_id ON episode_ends (episode_id);
CREATE INDEX ix_signals_episode_id_candidate_digest_origin_verdict ON signals (episode_id, candidate_digest, origin, verdict);
CREATE UNIQUE INDEX uq_admissions_admitted ON admissions (signal_id) WHERE admitted = 1;
CREATE INDEX ix_reflections_episode_id ON reflections (episode_id);
CREATE INDEX ix_reflections_task_id_seq ON reflections (task_id, seq);
CREATE INDEX ix_reflections_family_seq ON reflections (family, seq);
CREATE INDEX ix_model_calls_episode_id ON model_calls (episode_id);
CREATE INDEX ix_signals_baseline ON signals (signature, episode_id) WHERE trial = 0;
COMMIT;
