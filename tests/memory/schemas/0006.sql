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
INSERT INTO "admissions" VALUES(10,'01a22575-da4f-7689-957a-58fa544aea76','01a22575-da0e-7653-97b9-a2407e051639',1,'01a22575-da4e-7578-9db7-429d36d08692','candidate','refine',1,'','2026-11-29T04:00:10.319074+00:00');
CREATE TABLE artifacts (
	seq INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	body BLOB NOT NULL, 
	CONSTRAINT pk_artifacts PRIMARY KEY (seq), 
	CONSTRAINT uq_artifacts_digest UNIQUE (digest)
);
INSERT INTO "artifacts" VALUES(7,'artifact','changes',X'006368616E676573FF');
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
INSERT INTO "candidates" VALUES(8,'01a22575-da0e-7653-97b9-a2407e051639',1,'candidate','','["compare.boundary"]','','artifact','2026-11-29T04:00:10.319063+00:00');
CREATE TABLE edit_rates (
	namespace TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	edit TEXT NOT NULL, 
	used INTEGER NOT NULL, 
	passed INTEGER NOT NULL, 
	CONSTRAINT pk_edit_rates PRIMARY KEY (namespace, scope, "key", edit)
);
INSERT INTO "edit_rates" VALUES('','all','','compare.boundary',1,0);
INSERT INTO "edit_rates" VALUES('','family','family','compare.boundary',1,0);
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
INSERT INTO "episode_ends" VALUES(18,'01a22575-da0e-7653-97b9-a2407e051639','fail','exhausted','','','2026-11-29T04:00:10.319116+00:00');
CREATE TABLE episodes (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	run_id TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	family TEXT NOT NULL, 
	task TEXT NOT NULL, 
	base_digest TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	created_at TEXT NOT NULL, namespace TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_episodes PRIMARY KEY (seq), 
	CONSTRAINT uq_episodes_id UNIQUE (id)
);
INSERT INTO "episodes" VALUES(2,'01a22575-da0e-7653-97b9-a2407e051639','01a22575-da0e-7653-97b9-a23f2492849d','task','family','{}','',3,'2026-11-29T04:00:10.254593+00:00','');
CREATE TABLE experience (
	namespace TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	place TEXT NOT NULL, 
	move TEXT NOT NULL, 
	led_to TEXT NOT NULL, 
	action TEXT NOT NULL, 
	status TEXT NOT NULL, 
	choices INTEGER NOT NULL, 
	times INTEGER NOT NULL, 
	trials INTEGER NOT NULL, 
	won INTEGER NOT NULL, 
	why TEXT NOT NULL, 
	fresh INTEGER NOT NULL, 
	CONSTRAINT pk_experience PRIMARY KEY (namespace, scope, "key", place, move, led_to)
);
CREATE TABLE groundwire_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT groundwire_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "groundwire_schema" VALUES('0006');
CREATE TABLE intents (
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	body TEXT NOT NULL, 
	created_at TEXT NOT NULL, usd DOUBLE, tokens INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_intents PRIMARY KEY (seq), 
	CONSTRAINT uq_intents_episode_id_id UNIQUE (episode_id, id)
);
INSERT INTO "intents" VALUES(4,'01a22575-da4e-7578-9db7-429efb1fe706','01a22575-da0e-7653-97b9-a2407e051639',1,'model_call','request','','2026-11-29T04:00:10.318995+00:00',0.5,90);
CREATE TABLE lesson_marks (
	seq INTEGER NOT NULL, 
	namespace TEXT DEFAULT '' NOT NULL, 
	lesson_id TEXT NOT NULL, 
	mark TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_lesson_marks PRIMARY KEY (seq)
);
INSERT INTO "lesson_marks" VALUES(16,'','01a22575-da4f-7689-957a-58f9aaa56f74','quarantined','a trial','a person','2026-11-29T04:00:10.319104+00:00');
INSERT INTO "lesson_marks" VALUES(17,'','01a22575-da4f-7689-957a-58f9aaa56f74','released','','a person','2026-11-29T04:00:10.319109+00:00');
CREATE TABLE lesson_vectors (
	number INTEGER NOT NULL, 
	model TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	dimensions INTEGER NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT pk_lesson_vectors PRIMARY KEY (number, model)
);
INSERT INTO "lesson_vectors" VALUES(11,'constant@1','',2,X'9A99193FCDCC4C3F');
CREATE TABLE lessons (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	task_id TEXT NOT NULL, 
	family TEXT NOT NULL, 
	signature TEXT NOT NULL, 
	state TEXT NOT NULL, 
	root TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	fresh INTEGER NOT NULL, 
	trials INTEGER NOT NULL, 
	passed INTEGER NOT NULL, 
	expected DOUBLE NOT NULL, 
	CONSTRAINT pk_lessons PRIMARY KEY (number), 
	CONSTRAINT uq_lessons_id UNIQUE (id)
);
INSERT INTO "lessons" VALUES(11,'01a22575-da4f-7689-957a-58f9aaa56f74','','task','family','AssertionError: int one too small','active','01a22575-da4f-7689-957a-58f9aaa56f74','59d1e76678c6270786969c1f80202072',15,1,1,2.1333333333333331927e-01);
CREATE TABLE links (
	seq INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	body TEXT NOT NULL, 
	seal TEXT NOT NULL, 
	CONSTRAINT pk_links PRIMARY KEY (seq)
);
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
	created_at TEXT NOT NULL, namespace TEXT DEFAULT '' NOT NULL, reused TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_model_calls PRIMARY KEY (seq)
);
INSERT INTO "model_calls" VALUES(5,'01a22575-da4e-7578-9db7-429efb1fe706','01a22575-da0e-7653-97b9-a2407e051639',1,'scripted','','request','','',0,0,0.25,0.0,'2026-11-29T04:00:10.319036+00:00','','');
CREATE TABLE program_runs (
	seq INTEGER NOT NULL, 
	intent_id TEXT NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	request_digest TEXT NOT NULL, 
	command TEXT NOT NULL, 
	sandbox TEXT NOT NULL, 
	exit_code INTEGER, 
	ended_by TEXT NOT NULL, 
	stdout TEXT NOT NULL, 
	stderr TEXT NOT NULL, 
	stdout_cut INTEGER NOT NULL, 
	stderr_cut INTEGER NOT NULL, 
	refused TEXT NOT NULL, 
	candidate TEXT NOT NULL, 
	error TEXT NOT NULL, 
	cut_off BOOLEAN NOT NULL, 
	duration_s DOUBLE NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_program_runs PRIMARY KEY (seq)
);
INSERT INTO "program_runs" VALUES(6,'01a22575-da4e-7578-9db7-429efb1fe706','01a22575-da0e-7653-97b9-a2407e051639',1,'program','["fix","{tree}"]','',0,'','','',0,0,'[]','','',0,0.0,'2026-11-29T04:00:10.319049+00:00');
CREATE TABLE rates (
	namespace TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	trials INTEGER NOT NULL, 
	passed INTEGER NOT NULL, 
	CONSTRAINT pk_rates PRIMARY KEY (namespace, scope, "key")
);
INSERT INTO "rates" VALUES('','task','task',2,1);
INSERT INTO "rates" VALUES('','family','family',2,1);
INSERT INTO "rates" VALUES('','all','',2,1);
CREATE TABLE recalls (
	seq INTEGER NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	lesson_id TEXT NOT NULL, 
	rank INTEGER NOT NULL, 
	why TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_recalls PRIMARY KEY (seq), 
	CONSTRAINT uq_recalls_episode_id_trial_lesson_id UNIQUE (episode_id, trial, lesson_id)
);
INSERT INTO "recalls" VALUES(13,'01a22575-da0e-7653-97b9-a2407e051639',2,'01a22575-da4f-7689-957a-58f9aaa56f74',1,'signature+task','2026-11-29T04:00:10.319090+00:00');
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
	created_at TEXT NOT NULL, namespace TEXT DEFAULT '' NOT NULL, raw TEXT DEFAULT '' NOT NULL, model TEXT DEFAULT '' NOT NULL, signature TEXT DEFAULT '' NOT NULL, frames TEXT DEFAULT '[]' NOT NULL, 
	CONSTRAINT pk_reflections PRIMARY KEY (seq), 
	CONSTRAINT uq_reflections_id UNIQUE (id)
);
INSERT INTO "reflections" VALUES(11,'01a22575-da4f-7689-957a-58f9aaa56f74','01a22575-da0e-7653-97b9-a2407e051639',1,'01a22575-da4e-7578-9db7-429d36d08692','candidate','task','family','The upper bound is exclusive — NUL 0;.','critic','2026-11-29T04:00:10.319017+00:00','','don''t include the last one','scripted','AssertionError: int one too small','["shop/price.py:total"]');
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
	created_at TEXT NOT NULL, namespace TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (seq), 
	CONSTRAINT uq_runs_id UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'01a22575-da0e-7653-97b9-a23f2492849d','code_repair','{}','0.1.0','2026-11-29T04:00:10.254564+00:00','');
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
INSERT INTO "signals" VALUES(9,'01a22575-da4e-7578-9db7-429d36d08692','01a22575-da0e-7653-97b9-a23f2492849d','01a22575-da0e-7653-97b9-a2407e051639',1,'tests','fail',NULL,'test','candidate',1,0,1,0,0,'2026-11-29T04:00:10.318319+00:00','{"candidate_digest":"candidate","command":[],"created_at":"2026-11-29T04:00:10.318319+00:00","duration_s":0.0,"episode_id":"01a22575-da0e-7653-97b9-a2407e051639","evidence":{"cases":[{"duration_s":0.0,"id":"tests/test_x.py::test_edge","message":"assert 1 == 2","result":"failed"}],"collected":1,"deselected":0,"detail":"","stderr":"","stderr_cut":0,"stdout":"","stdout_cut":0},"exit_code":1,"id":"01a22575-da4e-7578-9db7-429d36d08692","isolation":"in_process","issuer":"test","oracle":false,"origin":"tests","partial":false,"reason":null,"run_id":"01a22575-da0e-7653-97b9-a23f2492849d","sandbox":null,"seal":"ed25519:fe0339321627014836c0ed89431fa9a6d7cd9282629efdbb8c36494de57a0713bf402e7607a2f0cb7b5bda2b9b5a9fe0f5415836e0145b8c30a8b6596746ae0a","trial":1,"verdict":"fail"}','AssertionError: int one too small');
CREATE TABLE trial_ends (
	seq INTEGER NOT NULL, 
	episode_id TEXT NOT NULL, 
	trial INTEGER NOT NULL, 
	verdict TEXT NOT NULL, 
	signal_id TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_trial_ends PRIMARY KEY (seq), 
	CONSTRAINT uq_trial_ends_episode_id_trial UNIQUE (episode_id, trial)
);
INSERT INTO "trial_ends" VALUES(12,'01a22575-da0e-7653-97b9-a2407e051639',1,'fail','01a22575-da4e-7578-9db7-429d36d08692','2026-11-29T04:00:10.319083+00:00');
INSERT INTO "trial_ends" VALUES(15,'01a22575-da0e-7653-97b9-a2407e051639',2,'pass','','2026-11-29T04:00:10.319098+00:00');
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
INSERT INTO "trials" VALUES(3,'01a22575-da0e-7653-97b9-a2407e051639',1,'[]',0,'2026-11-29T04:00:10.319024+00:00');
INSERT INTO "trials" VALUES(14,'01a22575-da0e-7653-97b9-a2407e051639',2,'["01a22575-da4f-7689-957a-58f9aaa56f74"]',0,'2026-11-29T04:00:10.319093+00:00');
CREATE INDEX ix_run_ends_run_id ON run_ends (run_id);
CREATE INDEX ix_episodes_run_id ON episodes (run_id);
CREATE INDEX ix_episodes_family ON episodes (family);
CREATE INDEX ix_episode_ends_episode_id ON episode_ends (episode_id);
CREATE UNIQUE INDEX uq_admissions_admitted ON admissions (signal_id) WHERE admitted = 1;
CREATE INDEX ix_reflections_episode_id ON reflections (episode_id);
CREATE INDEX ix_model_calls_episode_id ON model_calls (episode_id);
CREATE INDEX ix_lessons_task_id ON lessons (namespace, task_id, fresh) WHERE state = 'active';
CREATE INDEX ix_lessons_family ON lessons (namespace, family, fresh) WHERE state = 'active';
CREATE INDEX ix_lessons_family_signature ON lessons (namespace, family, signature, fresh) WHERE state = 'active';
CREATE INDEX ix_lessons_namespace_family_fingerprint ON lessons (namespace, family, fingerprint);
CREATE INDEX ix_lessons_root ON lessons (root);
CREATE INDEX ix_recalls_lesson_id ON recalls (lesson_id);
CREATE INDEX ix_program_runs_episode_id ON program_runs (episode_id);
CREATE INDEX ix_lesson_marks_lesson_id ON lesson_marks (lesson_id);
CREATE INDEX ix_model_calls_request_digest ON model_calls (request_digest);
CREATE INDEX ix_signals_episode_id_trial ON signals (episode_id, trial);
CREATE INDEX ix_signals_candidate_digest ON signals (candidate_digest);
CREATE TRIGGER lesson_words_added AFTER INSERT ON reflections BEGIN INSERT INTO lesson_words(rowid, text) VALUES (new.seq, new.text); END;
CREATE TRIGGER lesson_words_gone AFTER DELETE ON reflections BEGIN INSERT INTO lesson_words(lesson_words, rowid, text) VALUES ('delete', old.seq, old.text); END;
CREATE INDEX ix_experience_namespace_scope_key_fresh ON experience (namespace, scope, "key", fresh);
CREATE INDEX ix_links_run_id_episode_id_number ON links (run_id, episode_id, number);
COMMIT;
CREATE VIRTUAL TABLE lesson_words USING fts5(text, content='reflections', content_rowid='seq', tokenize='porter unicode61');
INSERT INTO lesson_words(lesson_words) VALUES ('rebuild');
